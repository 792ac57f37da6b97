// SPDX-License-Identifier: MIT
// Plays a plan: the picture has its own time line, and this moves it.
'use strict';

const data = JSON.parse(document.getElementById('data').textContent);
const picture = document.getElementById('plan');
const find = (id) => document.getElementById(id);
const calm = window.matchMedia('(prefers-reduced-motion: reduce)');

// Stops: the start, then the end of every step.
const stops = [0, ...data.steps.map((step) => step.end)];
let time = 0;
let playing = false;
let until = Infinity;
let last = 0;

/// Between two ticks of the clock the picture must not fall back.
const justBehind = 0.02;

function stopAt(moment) {
  let stop = 0;
  while (stop + 1 < stops.length && moment >= stops[stop + 1]) stop += 1;
  return stop;
}

/// The step that is under way, or the last that ended.
function wordsAt(moment) {
  const running = data.steps.findIndex((step) => moment >= step.begin && moment < step.end);
  const index = running >= 0 ? running : stopAt(moment) - 1;
  if (index < 0) return 'Start: what every rank has';
  const { label, words } = data.steps[index];
  const most = 8;
  const more = words.length > most ? `; and ${words.length - most} more` : '';
  return `${label} of ${data.steps[data.steps.length - 1].label.replace(/.*\D(\d+)$/, '$1')}: ${words.slice(0, most).join('; ')}${more}`;
}

function show() {
  picture.setCurrentTime(time);
  find('slider').value = String(stopAt(time));
  find('slider').setAttribute('aria-valuetext', wordsAt(time));
  const words = wordsAt(time);
  if (find('now').textContent !== words) find('now').textContent = words;
  find('play').textContent = playing ? 'Pause' : 'Play';
}

function tick(now) {
  if (!playing) return;
  time += Math.min((now - last) / 1000, 0.1) * Number(find('speed').value);
  last = now;
  if (time >= until) {
    time = until;
    playing = false;
  }
  if (time >= data.length) time = 0;
  show();
  if (playing) requestAnimationFrame(tick);
}

function play(to) {
  until = to;
  if (!playing) {
    playing = true;
    last = performance.now();
    requestAnimationFrame(tick);
  }
  show();
}

function goTo(stop) {
  playing = false;
  time = stop === 0 ? 0 : stops[stop] + justBehind;
  show();
}

function toggle() {
  if (playing) {
    playing = false;
    show();
  } else {
    play(Infinity);
  }
}

function forward() {
  const next = stopAt(time) + 1;
  if (next >= stops.length) return;
  if (calm.matches) goTo(next);
  else play(stops[next] + justBehind);
}

function back() {
  const stop = stopAt(time);
  // Within a step back is its beginning.
  goTo(time > stops[stop] + 2 * justBehind && stop > 0 ? stop : Math.max(stop - 1, 0));
}

const keys = {
  ' ': toggle,
  ArrowRight: forward,
  ArrowLeft: back,
  Home: () => goTo(0),
  End: () => goTo(stops.length - 1),
};

document.addEventListener('keydown', (event) => {
  const inControl = ['BUTTON', 'SELECT', 'INPUT'].includes(event.target.tagName);
  if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
  // A button has the space bar, a list and a slider have the arrows.
  if (inControl && (event.key === ' ' || event.target.tagName !== 'BUTTON')) return;
  event.preventDefault();
  keys[event.key]();
});
find('play').addEventListener('click', toggle);
find('forward').addEventListener('click', forward);
find('back').addEventListener('click', back);
find('first').addEventListener('click', () => goTo(0));
find('slider').addEventListener('input', () => goTo(Number(find('slider').value)));

const order = ['', 'light', 'dark'];
find('theme').addEventListener('click', () => {
  const root = document.documentElement;
  const next = order[(order.indexOf(root.dataset.theme || '') + 1) % order.length];
  if (next === '') delete root.dataset.theme;
  else root.dataset.theme = next;
  find('theme').textContent = `Theme: ${next || 'as the system'}`;
});
find('theme').hidden = false;
find('theme').textContent = 'Theme: as the system';

picture.pauseAnimations();
find('slider').max = String(stops.length - 1);
show();
if (!calm.matches && data.steps.length > 0) play(Infinity);
