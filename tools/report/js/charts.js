// SPDX-License-Identifier: MIT
// From a chart's data to what Chart.js draws.

function lineDatasets(spec, colours) {
  return spec.series.map((series) => {
    const colour = series.bound ? colours.ink : colours.palette[series.colour];
    return {
      label: series.label,
      data: series.points.map(([x, y, least, most, note]) => ({ x, y, least, most, note })),
      hidden: !series.on,
      band: series.points.some((point) => point[3] !== null && point[3] > point[2]),
      borderColor: colour,
      backgroundColor: series.hollow ? colours.page : colour,
      borderDash: dashes[series.dash],
      borderWidth: series.bound ? 2 : 2.2,
      pointStyle: series.bound ? 'line' : markers[series.marker],
      // A bound is a line; at a single size it is a dash.
      pointRadius: series.bound ? (series.points.length > 1 ? 0 : 14) : 4,
      pointHoverRadius: 7,
      pointBorderWidth: 1.6,
      pointHitRadius: 8,
      figures: series.figures,
      detail: series.detail,
    };
  });
}

function lineTooltip(spec) {
  return {
    displayColors: true,
    callbacks: {
      title: (items) => items.map((item) => formatValue(spec.x, item.raw.x)).slice(0, 1),
      label: (item) => pointWords(spec, item.dataset, item.raw),
      afterLabel: (item) => [item.raw.note, item.dataset.detail].filter((text) => text),
    },
  };
}

/// "ring: 10.4 GB/s (9.9 to 10.6), measured".
function pointWords(spec, dataset, point) {
  const spread = point.most !== null && point.most !== undefined && point.most > point.least
    ? ` (${formatValue(spec.y, point.least)} to ${formatValue(spec.y, point.most)})`
    : '';
  return `${dataset.label}: ${formatValue(spec.y, point.y)}${spread}, ${dataset.figures}`;
}

function linesConfig(spec, colours) {
  const points = spec.series.flatMap((series) => series.points);
  // What is far away, a bound or a spread, must not press everything else together.
  const lines = spec.series.filter((series) => !series.bound);
  const heights = (lines.length > 0 ? lines : spec.series).flatMap((series) => series.points).map((point) => point[1]);
  if (spec.y === 'GB/s') heights.push(...points.map((point) => point[1]));
  const counted = spec.x !== 'bytes';
  const sparse = spec.y === 'number';
  return {
    type: 'line',
    data: { datasets: lineDatasets(spec, colours) },
    options: {
      interaction: { mode: 'nearest', axis: 'xy', intersect: false },
      scales: {
        x: counted
          ? linearAxis(spec.x, spec.x_title, colours, { ticks: { color: colours.dim, precision: 0 } })
          : logarithmicAxis('bytes', spec.x_title, colours, rangeOf(points.map((point) => point[0]), 1.15), byteTicks),
        y: sparse
          ? linearAxis('number', spec.y_title, colours, { beginAtZero: true })
          : logarithmicAxis(spec.y, spec.y_title, colours, rangeOf(heights.concat(spec.references ? [1] : []), 1.5), decadeTicks),
      },
      plugins: {
        tooltip: lineTooltip(spec),
        marks: { marks: spec.marks || [], references: spec.references || [], colours },
        whiskers: false,
      },
    },
  };
}

/// Characters of a line of a bar's name: on a phone the bars need the room.
function labelWidth() {
  return window.innerWidth < 600 ? 22 : 44;
}

function barsConfig(spec, colours) {
  const ranges = (spec.whiskers || []).filter((range) => range !== null);
  const ends = ranges.flat().concat(spec.references || []).filter((value) => Number.isFinite(value));
  return {
    type: 'bar',
    data: {
      labels: spec.categories.map((category) => wrapped(category, labelWidth())),
      datasets: spec.parts.map((part) => {
        const colour = colours.palette[part.colour];
        const light = part.beside || part.striped;
        return {
          label: part.label,
          data: part.values,
          stack: part.beside ? 'beside' : spec.stacked ? 'all' : part.label,
          backgroundColor: light ? withAlpha(colour, 0.4) : colour,
          borderColor: light ? colour : colours.page,
          borderWidth: 1,
          categoryPercentage: 0.82,
          barPercentage: 0.92,
        };
      }),
    },
    options: {
      indexAxis: 'y',
      interaction: { mode: 'nearest', axis: 'y', intersect: false },
      scales: {
        x: linearAxis('number', spec.x_title, colours, {
          stacked: spec.stacked,
          beginAtZero: true,
          suggestedMax: ends.length > 0 ? Math.max(...ends) * 1.04 : undefined,
        }),
        y: {
          stacked: spec.stacked,
          grid: { display: false, borderColor: colours.grid },
          ticks: { color: colours.ink, autoSkip: false, font: { size: 11 } },
        },
      },
      plugins: {
        tooltip: {
          callbacks: {
            title: (items) => items.slice(0, 1).map((item) => spec.categories[item.dataIndex]),
            label: (item) => barWords(spec, item.dataset, item.dataIndex),
          },
        },
        marks: false,
        whiskers: { whiskers: spec.whiskers || [], references: spec.references || [], colours },
      },
    },
  };
}

function barWords(spec, dataset, index) {
  const range = (spec.whiskers || [])[index];
  const spread = range && range[1] > range[0] ? ` (${formatNumber(range[0])} to ${formatNumber(range[1])})` : '';
  return `${dataset.label}: ${formatNumber(dataset.data[index])}${spread}`;
}

function spansConfig(spec, colours) {
  const kinds = Object.keys(spec.colours);
  return {
    type: 'bar',
    data: {
      labels: spec.rows,
      datasets: kinds.map((kind) => ({
        label: kind,
        data: spec.spans
          .filter((span) => span[3] === kind)
          .map(([row, begin, end, , what]) => ({ y: spec.rows[row], x: [begin, end], what })),
        backgroundColor: withAlpha(colours.palette[spec.colours[kind]], kind === 'issue' ? 0.5 : 0.95),
        borderColor: colours.page,
        borderWidth: 0.5,
        borderSkipped: false,
        grouped: false,
        minBarLength: 1,
        categoryPercentage: 0.9,
        barPercentage: 0.9,
      })),
    },
    options: {
      indexAxis: 'y',
      interaction: { mode: 'nearest', intersect: true },
      scales: {
        x: linearAxis('us', spec.x_title, colours, { min: 0 }),
        y: { grid: { display: false, borderColor: colours.grid }, ticks: { color: colours.ink, autoSkip: false } },
      },
      plugins: {
        tooltip: { callbacks: { label: (item) => spanWords(item.raw) } },
        marks: false,
        whiskers: false,
      },
    },
  };
}

function spanWords(span) {
  const [begin, end] = span.x;
  return `${span.what}: ${formatTime(begin)} to ${formatTime(end)} (${formatTime(end - begin)})`;
}

const configMakers = { lines: linesConfig, bars: barsConfig, spans: spansConfig };
const plugins = [bandsPlugin, marksPlugin, whiskersPlugin];

/// Everything that Chart.js needs for a chart of the page.
function chartConfig(spec, colours) {
  const config = configMakers[spec.kind](spec, colours);
  Object.assign(config.options, { responsive: true, maintainAspectRatio: false, animation: false, color: colours.ink });
  config.options.devicePixelRatio = Math.max(window.devicePixelRatio || 1, 2);
  Object.assign(config.options.plugins, { legend: { display: false }, bands: spec.kind === 'lines' ? {} : false });
  Object.assign(config.options.plugins.tooltip, {
    backgroundColor: colours.ink,
    titleColor: colours.page,
    bodyColor: colours.page,
  });
  config.plugins = plugins;
  return config;
}

/// Pixels.
function heightOf(spec) {
  if (spec.kind === 'lines') return 360;
  if (spec.kind === 'spans') return Math.min(60 + 26 * spec.rows.length, 1600);
  // Rows are equally high, so the longest name decides.
  const names = spec.categories.map((category) => 13 * wrapped(category, labelWidth()).length + 6);
  const least = spec.stacked ? 38 : 14 + 11 * spec.parts.length;
  return 64 + spec.categories.length * Math.max(least, ...names);
}
