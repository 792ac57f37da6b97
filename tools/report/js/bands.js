// SPDX-License-Identifier: MIT
// What is drawn beside lines and bars: spreads, crossovers, references, whiskers.

/// The spread of a series, below its line.
const bandsPlugin = {
  id: 'bands',
  beforeDatasetsDraw(chart) {
    const { ctx, chartArea: area, scales } = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(area.left, area.top, area.right - area.left, area.bottom - area.top);
    ctx.clip();
    chart.data.datasets.forEach((dataset, index) => {
      if (!dataset.band || !chart.isDatasetVisible(index)) return;
      const points = dataset.data.filter((point) => point.least > 0 && point.most > 0);
      if (points.length < 2) return;
      ctx.fillStyle = withAlpha(dataset.borderColor, 0.16);
      ctx.beginPath();
      points.forEach((point, i) => {
        const x = scales.x.getPixelForValue(point.x);
        const y = scales.y.getPixelForValue(point.most);
        if (i === 0) ctx.moveTo(x, y);
        else ctx.lineTo(x, y);
      });
      for (const point of points.slice().reverse())
        ctx.lineTo(scales.x.getPixelForValue(point.x), scales.y.getPixelForValue(point.least));
      ctx.closePath();
      ctx.fill();
    });
    ctx.restore();
  },
};

function isShown(chart, label) {
  const index = chart.data.datasets.findIndex((dataset) => dataset.label === label);
  return index >= 0 && chart.isDatasetVisible(index);
}

/// Rings where lines cross (filled where the spreads are clear of each other), lines across.
const marksPlugin = {
  id: 'marks',
  afterDatasetsDraw(chart, _, { marks = [], references = [], colours }) {
    const { ctx, chartArea: area, scales } = chart;
    ctx.save();
    for (const { y, text } of references) {
      const at = scales.y.getPixelForValue(y);
      if (at < area.top || at > area.bottom) continue;
      ctx.strokeStyle = colours.ink;
      ctx.fillStyle = colours.dim;
      ctx.lineWidth = 1;
      ctx.setLineDash([2, 4]);
      ctx.beginPath();
      ctx.moveTo(area.left, at);
      ctx.lineTo(area.right, at);
      ctx.stroke();
      ctx.font = '11px sans-serif';
      ctx.textAlign = 'right';
      ctx.textBaseline = 'bottom';
      ctx.fillText(text, area.right - 4, at - 2);
    }
    for (const mark of marks) {
      if (!isShown(chart, mark.below) || !isShown(chart, mark.above)) continue;
      const x = scales.x.getPixelForValue(mark.x);
      const y = scales.y.getPixelForValue(mark.y);
      if (!(x >= area.left && x <= area.right && y >= area.top && y <= area.bottom)) continue;
      ctx.strokeStyle = colours.ink;
      ctx.lineWidth = 1.5;
      ctx.setLineDash([]);
      ctx.beginPath();
      ctx.arc(x, y, 7, 0, 2 * Math.PI);
      ctx.stroke();
      if (!mark.clear) continue;
      ctx.lineWidth = 1;
      ctx.setLineDash([3, 3]);
      ctx.beginPath();
      ctx.moveTo(x, y + 7);
      ctx.lineTo(x, area.bottom);
      ctx.stroke();
    }
    ctx.restore();
  },
};

/// The range of a bar's value, and a mark per category.
const whiskersPlugin = {
  id: 'whiskers',
  afterDatasetsDraw(chart, _, { whiskers = [], references = [], colours }) {
    const { ctx, scales } = chart;
    const bars = chart.getDatasetMeta(0).data;
    ctx.save();
    ctx.strokeStyle = colours.ink;
    bars.forEach((bar, index) => {
      const range = chart.isDatasetVisible(0) && whiskers[index];
      ctx.lineWidth = 1.5;
      ctx.setLineDash([]);
      if (range && range[1] > range[0]) {
        const [left, right] = range.map((value) => scales.x.getPixelForValue(value));
        ctx.beginPath();
        ctx.moveTo(left, bar.y);
        ctx.lineTo(right, bar.y);
        for (const x of [left, right]) {
          ctx.moveTo(x, bar.y - 5);
          ctx.lineTo(x, bar.y + 5);
        }
        ctx.stroke();
      }
      const reference = references[index];
      if (reference === undefined || reference === null) return;
      const x = scales.x.getPixelForValue(reference);
      ctx.lineWidth = 2;
      ctx.setLineDash([2, 3]);
      ctx.beginPath();
      ctx.moveTo(x, bar.y - bar.height * 0.75);
      ctx.lineTo(x, bar.y + bar.height * 0.75);
      ctx.stroke();
    });
    ctx.restore();
  },
};
