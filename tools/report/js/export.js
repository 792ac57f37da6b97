// SPDX-License-Identifier: MIT
// A chart as a file: with its title and legend inside, on white.

const exportWidth = 960;

function fileName(title, ending) {
  return `${title.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 80) || 'chart'}.${ending}`;
}

function download(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = element('a', { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/// The chart's configuration for a canvas that is not on the page.
function exportConfig(figure) {
  const { spec } = figure;
  const colours = themeColours(false);
  const config = chartConfig(spec, colours);
  Object.assign(config.options, { responsive: false, devicePixelRatio: 1, layout: { padding: 14 } });
  config.data.datasets.forEach((dataset, index) => {
    dataset.hidden = !figure.chart.isDatasetVisible(index);
  });
  const figures = spec.figures.join(', ');
  Object.assign(config.options.plugins, {
    title: { display: true, text: `${spec.title} (${figures})`, color: colours.ink, font: { size: 15 } },
    legend: {
      display: true,
      position: 'bottom',
      labels: { color: colours.ink, usePointStyle: true, filter: (item) => !item.hidden },
    },
  });
  config.plugins = [...plugins, {
    id: 'paper',
    beforeDraw(chart) {
      chart.ctx.fillStyle = colours.page;
      chart.ctx.fillRect(0, 0, chart.width, chart.height);
    },
  }];
  return config;
}

function exportHeight(figure) {
  return heightOf(figure.spec) + 120;
}

function chartAsSvg(figure) {
  const config = exportConfig(figure);
  config.platform = Chart.BasicPlatform;
  // A line of segments is drawn point by point, not as a Path2D, which no other context can read.
  for (const dataset of config.data.datasets) if (figure.spec.kind === 'lines') dataset.segment = {};
  const context = new SvgContext(exportWidth, exportHeight(figure));
  const chart = new Chart(context.canvas, config);
  // Drawn again from the start: what a chart draws first is of a layout that is not its last.
  const { defs, svg } = context;
  defs.replaceChildren();
  svg.replaceChildren(defs);
  chart.draw();
  const text = context.text();
  chart.destroy();
  return text;
}

function chartAsPng(figure, done) {
  const canvas = element('canvas', { width: exportWidth, height: exportHeight(figure) });
  const config = exportConfig(figure);
  config.options.devicePixelRatio = 2;
  const chart = new Chart(canvas, config);
  canvas.toBlob((blob) => {
    chart.destroy();
    done(blob);
  });
}

function exportButtons(title, makers) {
  const row = element('p', { class: 'exports' });
  for (const [ending, make] of makers) {
    const button = element('button', { type: 'button', 'data-export': ending }, ending.toUpperCase());
    button.title = `Save "${title}" as ${ending.toUpperCase()}`;
    button.addEventListener('click', () => make((blob) => download(fileName(title, ending), blob)));
    row.append(button);
  }
  return row;
}

function svgBlob(text) {
  return new Blob([text], { type: 'image/svg+xml' });
}

/// A picture that is SVG already, painted on white.
function pictureAsPng(svg, done) {
  const { width, height } = svg.viewBox.baseVal;
  const url = URL.createObjectURL(svgBlob(new XMLSerializer().serializeToString(svg)));
  const image = new Image();
  image.addEventListener('load', () => {
    const canvas = element('canvas', { width: 2 * width, height: 2 * height });
    const ctx = canvas.getContext('2d');
    ctx.fillStyle = '#ffffff';
    ctx.fillRect(0, 0, canvas.width, canvas.height);
    ctx.drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(url);
    canvas.toBlob(done);
  });
  image.src = url;
}
