// SPDX-License-Identifier: MIT
// The picture of a machine: which call's loads its links show.

class MachineFigure {
  constructor(figure, data) {
    this.figure = figure;
    this.data = data;
    this.svg = figure.querySelector('svg');
    this.links = new Map();
    for (const link of figure.querySelectorAll('[data-link]')) this.links.set(link.dataset.link, link);
    if (data.cases.length > 1) this.addChoice();
    const title = `machine ${data.name}`;
    figure.append(exportButtons(title, [
      ['svg', (done) => done(svgBlob(new XMLSerializer().serializeToString(this.svg)))],
      ['png', (done) => pictureAsPng(this.svg, done)],
    ]));
    if (data.cases.length > 0) {
      this.details = dataTable(() => this.table());
      figure.append(this.details);
    }
    this.now = 0;
  }

  addChoice() {
    const select = element('select', {}, ...this.data.cases.map((one) => element('option', {}, one.name)));
    select.addEventListener('change', () => this.show(select.selectedIndex));
    this.figure.querySelector('figcaption').after(element('p', {}, element('label', {}, 'Of ', select)));
  }

  show(index) {
    this.now = index;
    const one = this.data.cases[index];
    for (const [name, link] of this.links) {
      const [step, words] = one.links[name] || [0, name];
      link.setAttribute('class', `link load-${step}`);
      link.querySelector('title').textContent = words;
    }
    const table = this.details.querySelector('.wide');
    if (table) table.replaceChildren(this.table());
    say(`links of ${one.name}`);
  }

  table() {
    const one = this.data.cases[this.now];
    const rows = Object.values(one.links).filter(([step]) => step > 0).map(([, words]) => {
      const split = words.lastIndexOf(': ');
      const [bytes, share] = words.slice(split + 2).split(', ');
      return [words.slice(0, split), bytes, share];
    });
    return tableOf(`${one.name}: ${formatTime(one.seconds * 1e6)}, simulated`, ['link or part', 'taken', 'of its capacity'], rows);
  }
}
