// SPDX-License-Identifier: MIT
// Numbers for people.

/// "64 KiB", as the commands print it.
function formatBytes(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (bytes >= 1024 && unit + 1 < units.length) {
    bytes /= 1024;
    unit += 1;
  }
  return `${Number(bytes.toFixed(bytes < 10 ? 1 : 0))} ${units[unit]}`;
}

function formatTime(us) {
  if (us === 0) return '0';
  if (Math.abs(us) >= 1e6) return `${formatNumber(us / 1e6)} s`;
  if (Math.abs(us) >= 1e3) return `${formatNumber(us / 1e3)} ms`;
  if (Math.abs(us) < 1) return `${formatNumber(us * 1e3)} ns`;
  return `${formatNumber(us)} us`;
}

/// Three digits that say something.
function formatNumber(value) {
  if (value === 0) return '0';
  const size = Math.abs(value);
  return size >= 1e6 || size < 1e-6 ? value.toExponential(2) : String(Number(value.toPrecision(3)));
}

/// A value on an axis of this kind.
function formatValue(kind, value) {
  switch (kind) {
    case 'bytes':
      return formatBytes(value);
    case 'us':
      return formatTime(value);
    case 'GB/s':
      return `${formatNumber(value)} GB/s`;
    case 'times':
      return `${formatNumber(value)} x`;
    default:
      return formatNumber(value);
  }
}

/// A text on lines of at most `most` characters, broken behind commas and blanks.
function wrapped(text, most) {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines[lines.length - 1];
    if (line !== '' && line.length + 1 + word.length > most) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}
