// SPDX-License-Identifier: MIT
// The numbers behind a chart, made when they are first looked at.

const mostTableRows = 2000;

function tableOf(caption, heads, rows) {
  const table = element('table', {}, element('caption', {}, caption));
  table.append(element('thead', {}, element('tr', {}, ...heads.map((head) => element('th', { scope: 'col' }, head)))));
  const body = element('tbody');
  for (const [head, ...cells] of rows.slice(0, mostTableRows))
    body.append(element('tr', {}, element('th', { scope: 'row' }, head), ...cells.map((cell) => element('td', {}, cell))));
  table.append(body);
  return table;
}

function linesTable(spec) {
  const xs = [...new Set(spec.series.flatMap((series) => series.points.map((point) => point[0])))].sort((a, b) => a - b);
  const cell = (series, x) => {
    const point = series.points.find((one) => one[0] === x);
    if (point === undefined) return '-';
    const [, y, least, most] = point;
    const spread = most !== null && most > least ? ` (${formatValue(spec.y, least)} to ${formatValue(spec.y, most)})` : '';
    return formatValue(spec.y, y) + spread;
  };
  return tableOf(
    spec.title,
    [spec.x_title, ...spec.series.map((series) => `${series.label}, ${series.figures}`)],
    xs.map((x) => [formatValue(spec.x, x), ...spec.series.map((series) => cell(series, x))]));
}

function barsTable(spec) {
  const heads = ['', ...spec.parts.map((part) => part.label)];
  if (spec.whiskers) heads.push('range');
  if (spec.references) heads.push(spec.reference_label);
  return tableOf(spec.title, heads, spec.categories.map((category, index) => {
    const row = [category, ...spec.parts.map((part) => formatNumber(part.values[index]))];
    const range = spec.whiskers && spec.whiskers[index];
    if (spec.whiskers) row.push(range ? `${formatNumber(range[0])} to ${formatNumber(range[1])}` : '-');
    if (spec.references) row.push(formatNumber(spec.references[index]));
    return row;
  }));
}

function spansTable(spec) {
  return tableOf(spec.title, ['lane', 'begin', 'end', 'kind', 'what'],
    spec.spans.map(([row, begin, end, kind, what]) => [spec.rows[row], formatTime(begin), formatTime(end), kind, what]));
}

/// A <details> that fills itself.
function dataTable(make) {
  const details = element('details', {}, element('summary', {}, 'Numbers'));
  details.addEventListener('toggle', () => {
    if (details.open && details.childElementCount === 1)
      details.append(element('div', { class: 'wide', tabindex: '0', role: 'group', 'aria-label': 'table of numbers' }, make()));
  });
  return details;
}

const tableMakers = { lines: linesTable, bars: barsTable, spans: spansTable };
