// SPDX-License-Identifier: MIT
// A drawing context that writes SVG: as much of CanvasRenderingContext2D as Chart.js uses for our
// charts, so that a chart can leave the page as lines and not as pixels.

const svgName = 'http://www.w3.org/2000/svg';

function two(value) {
  return Number(value.toFixed(2));
}

class SvgContext {
  constructor(width, height) {
    this.canvas = { width, height, style: {}, getContext: () => this };
    this.svg = document.createElementNS(svgName, 'svg');
    this.svg.setAttribute('xmlns', svgName);
    this.svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
    this.svg.setAttribute('width', width);
    this.svg.setAttribute('height', height);
    this.defs = document.createElementNS(svgName, 'defs');
    this.svg.append(this.defs);
    this.parent = this.svg;
    this.saved = [];
    this.clips = 0;
    this.path = '';
    this.matrix = [1, 0, 0, 1, 0, 0];
    this.dash = [];
    Object.assign(this, {
      fillStyle: '#000000', strokeStyle: '#000000', lineWidth: 1, lineCap: 'butt', lineJoin: 'miter',
      miterLimit: 10, lineDashOffset: 0, font: '10px sans-serif', textAlign: 'start',
      textBaseline: 'alphabetic', globalAlpha: 1, direction: 'ltr',
    });
    this.ruler = document.createElement('canvas').getContext('2d');
  }

  // ---- state

  static get kept() {
    return ['fillStyle', 'strokeStyle', 'lineWidth', 'lineCap', 'lineJoin', 'miterLimit', 'lineDashOffset',
      'font', 'textAlign', 'textBaseline', 'globalAlpha', 'dash', 'matrix', 'parent'];
  }
  save() {
    this.saved.push(SvgContext.kept.map((name) => this[name]));
  }
  restore() {
    const values = this.saved.pop();
    if (values) SvgContext.kept.forEach((name, index) => { this[name] = values[index]; });
  }
  setLineDash(dash) {
    this.dash = [...dash];
  }
  getLineDash() {
    return this.dash;
  }

  // ---- where

  transform(a, b, c, d, e, f) {
    const [A, B, C, D, E, F] = this.matrix;
    this.matrix = [A * a + C * b, B * a + D * b, A * c + C * d, B * c + D * d, A * e + C * f + E, B * e + D * f + F];
  }
  setTransform(a, b, c, d, e, f) {
    this.matrix = [a, b, c, d, e, f];
  }
  resetTransform() {
    this.matrix = [1, 0, 0, 1, 0, 0];
  }
  translate(x, y) {
    this.transform(1, 0, 0, 1, x, y);
  }
  scale(x, y) {
    this.transform(x, 0, 0, y, 0, 0);
  }
  rotate(angle) {
    this.transform(Math.cos(angle), Math.sin(angle), -Math.sin(angle), Math.cos(angle), 0, 0);
  }
  point(x, y) {
    const [a, b, c, d, e, f] = this.matrix;
    return `${two(a * x + c * y + e)} ${two(b * x + d * y + f)}`;
  }

  // ---- paths

  beginPath() {
    this.path = '';
  }
  closePath() {
    if (this.path !== '') this.path += 'Z';
  }
  moveTo(x, y) {
    this.path += `M${this.point(x, y)}`;
  }
  lineTo(x, y) {
    this.path += `${this.path === '' ? 'M' : 'L'}${this.point(x, y)}`;
  }
  bezierCurveTo(ax, ay, bx, by, x, y) {
    this.path += `C${this.point(ax, ay)} ${this.point(bx, by)} ${this.point(x, y)}`;
  }
  quadraticCurveTo(ax, ay, x, y) {
    this.path += `Q${this.point(ax, ay)} ${this.point(x, y)}`;
  }
  rect(x, y, width, height) {
    this.moveTo(x, y);
    this.lineTo(x + width, y);
    this.lineTo(x + width, y + height);
    this.lineTo(x, y + height);
    this.closePath();
  }
  /// In pieces of a quarter at most, which an arc of SVG draws without doubt.
  arc(x, y, radius, from, to, backwards = false) {
    let sweep = to - from;
    if (!backwards && sweep < 0) sweep = (sweep % (2 * Math.PI)) + 2 * Math.PI;
    if (backwards && sweep > 0) sweep = (sweep % (2 * Math.PI)) - 2 * Math.PI;
    sweep = Math.max(Math.min(sweep, 2 * Math.PI), -2 * Math.PI);
    const pieces = Math.max(1, Math.ceil(Math.abs(sweep) / (Math.PI / 2)));
    this.lineTo(x + radius * Math.cos(from), y + radius * Math.sin(from));
    for (let piece = 1; piece <= pieces; piece += 1) {
      const angle = from + (sweep * piece) / pieces;
      const end = this.point(x + radius * Math.cos(angle), y + radius * Math.sin(angle));
      this.path += `A${two(radius)} ${two(radius)} 0 0 ${backwards ? 0 : 1} ${end}`;
    }
  }
  ellipse(x, y, radius, _, rotation, from, to, backwards) {
    this.arc(x, y, radius, from + rotation, to + rotation, backwards);
  }
  arcTo(x, y) {
    this.lineTo(x, y);
  }

  // ---- marks

  add(name, attributes, text) {
    const made = document.createElementNS(svgName, name);
    for (const [key, value] of Object.entries(attributes)) if (value !== '') made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    this.parent.append(made);
    return made;
  }
  strokeAttributes() {
    return {
      fill: 'none', stroke: this.strokeStyle, 'stroke-width': two(this.lineWidth), 'stroke-linecap': this.lineCap,
      'stroke-linejoin': this.lineJoin, 'stroke-dasharray': this.dash.join(' '),
      'stroke-opacity': this.globalAlpha === 1 ? '' : two(this.globalAlpha),
    };
  }
  stroke() {
    if (this.path !== '') this.add('path', { d: this.path, ...this.strokeAttributes() });
  }
  fill() {
    if (this.path !== '')
      this.add('path', { d: this.path, fill: this.fillStyle, 'fill-opacity': this.globalAlpha === 1 ? '' : two(this.globalAlpha) });
  }
  fillRect(x, y, width, height) {
    const before = this.path;
    this.path = '';
    this.rect(x, y, width, height);
    this.fill();
    this.path = before;
  }
  strokeRect(x, y, width, height) {
    const before = this.path;
    this.path = '';
    this.rect(x, y, width, height);
    this.stroke();
    this.path = before;
  }
  clearRect() {}
  clip() {
    this.clips += 1;
    const id = `clip-${this.clips}`;
    const clip = document.createElementNS(svgName, 'clipPath');
    clip.setAttribute('id', id);
    const area = document.createElementNS(svgName, 'path');
    area.setAttribute('d', this.path);
    clip.append(area);
    this.defs.append(clip);
    this.parent = this.add('g', { 'clip-path': `url(#${id})` });
  }

  // ---- text

  measureText(text) {
    this.ruler.font = this.font;
    return this.ruler.measureText(text);
  }
  fillText(text, x, y) {
    const anchors = { left: 'start', start: 'start', center: 'middle', right: 'end', end: 'end' };
    const baselines = { top: 'text-before-edge', hanging: 'hanging', middle: 'central', bottom: 'text-after-edge' };
    const size = /([\d.]+)px/.exec(this.font);
    this.add('text', {
      transform: `matrix(${this.matrix.map(two).join(' ')})`, x: two(x), y: two(y), fill: this.fillStyle,
      'font-family': 'Helvetica, Arial, sans-serif', 'font-size': size ? size[1] : '12',
      'font-weight': this.font.startsWith('bold') ? 'bold' : '', 'text-anchor': anchors[this.textAlign] || 'start',
      'dominant-baseline': baselines[this.textBaseline] || '',
    }, text);
  }
  strokeText() {}

  text() {
    return new XMLSerializer().serializeToString(this.svg);
  }
}
