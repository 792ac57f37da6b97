// SPDX-License-Identifier: MIT
// Puts the charts in their places.

const data = JSON.parse(document.getElementById('data').textContent);
const figures = [];

class ChartFigure {
  constructor(place, spec) {
    this.place = place;
    this.spec = spec;
    this.colours = themeColours(isDark());
    this.canvas = element('canvas', { tabindex: '0', role: 'img', 'aria-label': this.spoken() });
    const box = element('div', { class: 'canvas' }, this.canvas);
    box.style.height = `${heightOf(spec)}px`;
    place.append(box);
    this.chart = new Chart(this.canvas, chartConfig(spec, this.colours));
    this.legend = new Legend(this);
    box.after(this.legend.list);
    if (spec.marks && spec.marks.length > 0) this.addMarks();
    place.append(exportButtons(spec.title, [
      ['svg', (done) => done(svgBlob(chartAsSvg(this)))],
      ['png', (done) => chartAsPng(this, done)],
    ]));
    place.append(dataTable(() => tableMakers[spec.kind](spec)));
    setUpKeyboard(this);
    place.figure = this;
  }

  spoken() {
    return `${this.spec.title}, ${this.spec.figures.join(', ')}. Arrow keys go from value to value; a table follows.`;
  }

  /// The charts that show the same series.
  siblings() {
    const group = this.place.closest('.variant');
    return group && this.spec.marks ? figures.filter((other) => other.spec.marks && group.contains(other.place)) : [this];
  }

  /// Those of lines that are shown, in words.
  addMarks() {
    this.marks = element('ul', { class: 'marks', 'aria-label': 'Crossovers' });
    this.place.querySelector('.legend').after(this.marks);
    this.showMarks();
  }
  showMarks() {
    if (!this.marks) return;
    this.marks.replaceChildren(...this.spec.marks
      .filter((mark) => isShown(this.chart, mark.below) && isShown(this.chart, mark.above))
      .map((mark) => element('li', {}, mark.text)));
  }

  redraw() {
    this.chart.update('none');
    this.legend.show();
    this.showMarks();
  }

  /// In other colours.
  repaint(dark) {
    const shown = this.chart.data.datasets.map((_, index) => this.chart.isDatasetVisible(index));
    this.colours = themeColours(dark);
    const config = chartConfig(this.spec, this.colours);
    this.chart.data = config.data;
    this.chart.options = config.options;
    shown.forEach((on, index) => this.chart.setDatasetVisibility(index, on));
    this.chart.update('none');
    this.legend.build();
  }
}

/// Charts in hidden variants wait until they are shown: they have no size before.
function drawIn(root) {
  for (const place of root.querySelectorAll('figure.chart')) {
    if (place.figure || place.closest('[hidden]')) continue;
    figures.push(new ChartFigure(place, data.charts[Number(place.dataset.chart)]));
  }
}

function setUpVariants() {
  for (const select of document.querySelectorAll('select.variants'))
    select.addEventListener('change', () => {
      for (const variant of document.querySelectorAll(`.variant[data-panel="${select.dataset.panel}"]`)) {
        variant.hidden = Number(variant.dataset.variant) !== select.selectedIndex;
        drawIn(variant);
      }
    });
}

function setUpPrint() {
  window.addEventListener('beforeprint', () => {
    for (const figure of figures) {
      figure.repaint(false);
      figure.chart.resize();
    }
  });
  window.addEventListener('afterprint', () => {
    for (const figure of figures) figure.repaint(isDark());
  });
}

Chart.defaults.font.family = 'system-ui, sans-serif';
drawIn(document);
for (const place of document.querySelectorAll('.machine-figure'))
  place.figure = new MachineFigure(place, data.machines[Number(place.dataset.machine)]);
setUpVariants();
setUpPrint();
setUpTheme(() => figures.forEach((figure) => figure.repaint(isDark())));
