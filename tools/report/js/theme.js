// SPDX-License-Identifier: MIT
// Colours. The palette is that of Okabe and Ito, darkened or lightened until every colour stands out
// from its background.

const palettes = {
  light: ['#0072b2', '#d55e00', '#00835f', '#b4488a', '#a87400', '#2f93cf', '#6d54b5', '#4a5562'],
  dark: ['#5bb5ea', '#ff8b45', '#35cf9f', '#ee9cc8', '#f0c04a', '#a3d8f7', '#bda8f0', '#c3ccd6'],
};
const markers = ['circle', 'triangle', 'rect', 'rectRot', 'rectRounded', 'star', 'cross', 'crossRot'];
const dashes = { solid: [], dashed: [7, 4], dotted: [2, 4] };

const systemIsDark = window.matchMedia('(prefers-color-scheme: dark)');
const themeWords = { system: 'as the system', light: 'light', dark: 'dark' };

function chosenTheme() {
  return document.documentElement.dataset.theme || 'system';
}

function isDark() {
  const chosen = chosenTheme();
  return chosen === 'dark' || (chosen === 'system' && systemIsDark.matches);
}

/// What charts are drawn in; for files that leave the page always the light one.
function themeColours(dark) {
  return dark
    ? { palette: palettes.dark, ink: '#e6ebf0', dim: '#a9b4c0', grid: '#39434e', page: '#14191f', panel: '#1c232b' }
    : { palette: palettes.light, ink: '#1d2733', dim: '#55606c', grid: '#d9dfe5', page: '#ffffff', panel: '#ffffff' };
}

function withAlpha(colour, alpha) {
  return colour + Math.round(alpha * 255).toString(16).padStart(2, '0');
}

/// A button that goes round system, light, dark; `changed` is told.
function setUpTheme(changed) {
  const button = document.getElementById('theme');
  const show = () => {
    button.textContent = `Theme: ${themeWords[chosenTheme()]}`;
  };
  const order = ['system', 'light', 'dark'];
  button.addEventListener('click', () => {
    const next = order[(order.indexOf(chosenTheme()) + 1) % order.length];
    if (next === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    show();
    changed();
  });
  systemIsDark.addEventListener('change', changed);
  button.hidden = false;
  show();
}
