// SPDX-License-Identifier: MIT
// Walking through a chart's points by the arrow keys: the values are shown and spoken.

function visibleDatasets(chart) {
  return chart.data.datasets.map((_, index) => index).filter((index) => chart.isDatasetVisible(index));
}

function wordsAt(figure, datasetIndex, index) {
  const { spec, chart } = figure;
  const dataset = chart.data.datasets[datasetIndex];
  if (spec.kind === 'lines')
    return `${formatValue(spec.x, dataset.data[index].x)}, ${pointWords(spec, dataset, dataset.data[index])}`;
  if (spec.kind === 'bars') return `${spec.categories[index]}, ${barWords(spec, dataset, index)}`;
  return `${dataset.data[index].y}, ${spanWords(dataset.data[index])}`;
}

function setUpKeyboard(figure) {
  let place = { dataset: -1, index: 0 };
  const show = () => {
    const { chart } = figure;
    const active = [{ datasetIndex: place.dataset, index: place.index }];
    const point = chart.getDatasetMeta(place.dataset).data[place.index];
    chart.setActiveElements(active);
    chart.tooltip.setActiveElements(active, { x: point.x, y: point.y });
    chart.update('none');
    say(wordsAt(figure, place.dataset, place.index));
  };
  figure.canvas.addEventListener('keydown', (event) => {
    const visible = visibleDatasets(figure.chart);
    if (visible.length === 0) return;
    const at = visible.indexOf(place.dataset);
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const turn = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (event.key === 'Escape') {
      figure.chart.setActiveElements([]);
      figure.chart.tooltip.setActiveElements([], { x: 0, y: 0 });
      figure.chart.update('none');
      return;
    }
    if (step === undefined && turn === undefined && event.key !== 'Home' && event.key !== 'End') return;
    event.preventDefault();
    if (at < 0) place = { dataset: visible[0], index: 0 };
    else if (turn !== undefined) place.dataset = visible[(at + turn + visible.length) % visible.length];
    else if (step !== undefined) place.index += step;
    const last = figure.chart.data.datasets[place.dataset].data.length - 1;
    if (event.key === 'Home') place.index = 0;
    if (event.key === 'End') place.index = last;
    place.index = Math.min(Math.max(place.index, 0), last);
    show();
  });
}
