// SPDX-License-Identifier: MIT
// Scales: sizes and times span decades, so their axes are logarithmic.

/// Powers of two, so many that their labels have room; of a single other size that size, in the middle.
function byteTicks(scale) {
  const from = Math.ceil(Math.log2(scale.min) - 1e-9);
  const to = Math.floor(Math.log2(scale.max) + 1e-9);
  const room = Math.max(2, Math.floor((scale.width || 600) / 68));
  const step = Math.max(1, Math.ceil((to - from + 1) / room));
  const ticks = [];
  for (let power = from; power <= to; power += step) ticks.push({ value: 2 ** power });
  return ticks.length > 0 ? ticks : [{ value: Math.sqrt(scale.min * scale.max) }];
}

/// 1, 2, 5 of every decade, or only the 1 where there are many decades; where that is less than two, the ends.
function decadeTicks(scale) {
  const from = Math.floor(Math.log10(scale.min));
  const to = Math.ceil(Math.log10(scale.max));
  const digits = to - from <= 3 ? [1, 2, 5] : [1];
  const ticks = [];
  for (let power = from; power <= to; power += 1)
    for (const digit of digits) {
      const value = digit * 10 ** power;
      if (value >= scale.min * 0.999 && value <= scale.max * 1.001) ticks.push({ value });
    }
  return ticks.length > 1 ? ticks : [{ value: scale.min }, { value: scale.max }];
}

function axisTitle(text, colours) {
  return { display: text !== '', text, color: colours.dim, font: { size: 12 } };
}

function logarithmicAxis(kind, title, colours, range, ticksOf) {
  return {
    type: 'logarithmic',
    min: range[0],
    max: range[1],
    title: axisTitle(title, colours),
    grid: { color: colours.grid, borderColor: colours.grid },
    ticks: {
      color: colours.dim,
      autoSkip: false,
      maxRotation: 0,
      callback: (value) => formatValue(kind, value),
    },
    afterBuildTicks: (scale) => {
      scale.ticks = ticksOf(scale);
    },
  };
}

function linearAxis(kind, title, colours, more = {}) {
  return {
    type: 'linear',
    title: axisTitle(title, colours),
    grid: { color: colours.grid, borderColor: colours.grid },
    ticks: { color: colours.dim, maxRotation: 0, callback: (value) => formatValue(kind, value) },
    ...more,
  };
}

/// The least and the most of all positive values, with some room around.
function rangeOf(values, room) {
  const positive = values.filter((value) => value > 0);
  if (positive.length === 0) return [1, 10];
  const least = Math.min(...positive);
  const most = Math.max(...positive);
  return [least / room, most * room];
}
