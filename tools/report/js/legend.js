// SPDX-License-Identifier: MIT
// A legend of buttons: every series on and off by mouse, finger and keyboard.

/// Line and marker of a series as they are in the chart.
function swatch(spec, index, colours) {
  const series = (spec.series || spec.parts || [])[index];
  const kind = spec.kind === 'spans' ? Object.keys(spec.colours)[index] : '';
  const colour = spec.kind === 'spans'
    ? colours.palette[spec.colours[kind]]
    : series.bound ? colours.ink : colours.palette[series.colour];
  const canvas = element('canvas', { width: 56, height: 28, 'aria-hidden': 'true' });
  canvas.style.width = '28px';
  canvas.style.height = '14px';
  const ctx = canvas.getContext('2d');
  ctx.scale(2, 2);
  ctx.strokeStyle = colour;
  ctx.fillStyle = series && series.hollow ? colours.page : colour;
  if (spec.kind !== 'lines') {
    ctx.globalAlpha = series && (series.beside || series.striped) ? 0.45 : 1;
    ctx.fillRect(4, 2, 20, 10);
    return canvas;
  }
  ctx.lineWidth = 2;
  ctx.setLineDash(dashes[series.dash]);
  ctx.beginPath();
  ctx.moveTo(0, 7);
  ctx.lineTo(28, 7);
  ctx.stroke();
  ctx.setLineDash([]);
  if (!series.bound)
    Chart.helpers.drawPoint(ctx, { pointStyle: markers[series.marker], radius: 4, borderWidth: 1.5, rotation: 0 }, 14, 7);
  return canvas;
}

function say(words) {
  document.getElementById('spoken').textContent = words;
}

class Legend {
  constructor(figure) {
    this.figure = figure;
    this.list = element('ul', { class: 'legend', 'aria-label': 'Series, on and off' });
    this.buttons = [];
    figure.spec.kind === 'lines' && figure.spec.series.length > 3 && this.addChoices();
    this.build();
  }

  build() {
    for (const button of this.buttons) button.parentElement.remove();
    this.buttons = this.figure.chart.data.datasets.map((dataset, index) => {
      const button = element('button', { type: 'button' }, swatch(this.figure.spec, index, this.figure.colours), dataset.label);
      if (dataset.detail) button.title = dataset.detail;
      button.addEventListener('click', () => this.toggle(index));
      this.list.append(element('li', {}, button));
      return button;
    });
    this.show();
  }

  addChoices() {
    const choices = [
      ['All', () => true],
      ['The best', (index) => this.figure.spec.series[index].on],
      ['None', () => false],
    ];
    for (const [name, wanted] of choices) {
      const button = element('button', { type: 'button', class: 'choice' }, name);
      button.addEventListener('click', () => {
        this.buttons.forEach((_, index) => this.set(index, wanted(index)));
        this.figure.redraw();
      });
      this.list.append(element('li', {}, button));
    }
  }

  toggle(index) {
    const on = !this.figure.chart.isDatasetVisible(index);
    const label = this.figure.chart.data.datasets[index].label;
    // The other chart of the same calls shows the same.
    for (const other of this.figure.siblings()) {
      const same = other.chart.data.datasets.findIndex((dataset) => dataset.label === label);
      if (same >= 0) other.legend.set(same, on);
      other.redraw();
    }
    say(`${label} ${on ? 'shown' : 'hidden'}`);
  }

  set(index, on) {
    this.figure.chart.setDatasetVisibility(index, on);
    this.show();
  }

  show() {
    this.buttons.forEach((button, index) =>
      button.setAttribute('aria-pressed', String(this.figure.chart.isDatasetVisible(index))));
  }
}
