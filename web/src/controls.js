// The buttons on the map, the menus beside it, and the keys.

import { element, words } from './dom.js';

export function menu(label, id, options, chosen, change) {
  const select = element('select', { id, on: { change: (event) => change(Number(event.target.value)) } },
    ...options.map(([value, text]) => element('option', { value, text, selected: value === chosen })));
  return element('label', { class: 'menu', for: id }, element('span', { text: label }), select);
}

export function hoverChoices(state) {
  const boxes = state.columns.map((column, index) => element('label', {},
    element('input', { type: 'checkbox', checked: state.hover.has(index), on: { change: (event) => {
      if (event.target.checked) state.hover.add(index);
      else state.hover.delete(index);
    } } }), words(column.name)));
  return boxes.length ? element('details', {}, element('summary', { text: 'Shown on hover' }), element('div', { class: 'choices' }, ...boxes)) : null;
}

const PICTURES = {
  plus: 'M10 4v12M4 10h12', minus: 'M4 10h12', fit: 'M4 8V4h4M12 4h4v4M16 12v4h-4M8 16H4v-4',
  lasso: 'M10 3.5c4 0 7 2 7 4.7s-3 4.8-7 4.8-7-2.100-7-4.800 3-4.700 7-4.700zM6 12.500c-1.500 1.500-1.500 3.500.5 4.500',
  window: 'M4 4h12v12H4zM7.500 10l2 2 3.500-4',
};

function picture(name) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  made.setAttribute('viewBox', '0 0 20 20');
  made.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', PICTURES[name]);
  made.append(path);
  return made;
}

export function toolbar(actions) {
  const button = (name, title, action, more = {}) =>
    element('button', { type: 'button', title, 'aria-label': title, on: { click: action }, ...more }, picture(name));
  return element('div', { class: 'tools', role: 'toolbar', 'aria-label': 'Map' },
    button('plus', 'Zoom in (+)', () => actions.zoom(1.5)),
    button('minus', 'Zoom out (−)', () => actions.zoom(1 / 1.5)),
    button('fit', 'Show everything (0)', actions.fit, { id: 'fit' }),
    button('lasso', 'Lasso: draw around points (L, or Shift and drag)', actions.lasso, { id: 'lasso', 'aria-pressed': 'false' }),
    button('window', 'Select what is in view (V)', actions.view, { id: 'view' }));
}

const KEYS = [
  ['← → ↑ ↓', 'move the map'], ['+ −', 'zoom'], ['0', 'show everything'], ['Enter', 'select the point nearest to the centre'],
  ['N', 'step to the nearest neighbour not yet visited'], ['B', 'step back'], ['L', 'lasso'], ['V', 'select what is in view'],
  ['/', 'search'], ['Esc', 'clear the selection'],
];

export const keyHelp = () => element('details', { class: 'keys' }, element('summary', { text: 'Keys' }),
  element('dl', { id: 'keys' }, ...KEYS.flatMap(([key, what]) => [element('dt', {}, element('kbd', { text: key })), element('dd', { text: what })])));

export function keyboard(actions) {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const where = event.target;
    const typing = where.matches?.('input, select, textarea');
    const onMap = where.matches?.('canvas') || where === document.body;
    const done = () => event.preventDefault();
    if (event.key === 'Escape') return actions.clear();
    if (typing) return;
    if (event.key === '/') return done(), actions.search();
    const simple = { n: actions.next, b: actions.back, l: actions.lasso, v: actions.view, 0: actions.fit, '+': () => actions.zoom(1.5), '=': () => actions.zoom(1.5), '-': () => actions.zoom(1 / 1.5) };
    const action = simple[event.key.toLowerCase()];
    if (action) return done(), action();
    if (!onMap) return;
    const arrows = { ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] };
    if (arrows[event.key]) return done(), actions.pan(...arrows[event.key]);
    if (event.key === 'Enter') return done(), actions.centre();
  });
}

export function themeButton(change) {
  const root = document.documentElement;
  const system = window.matchMedia('(prefers-color-scheme: dark)');
  const isDark = () => (root.dataset.theme ? root.dataset.theme === 'dark' : system.matches);
  const button = element('button', { type: 'button', id: 'theme', on: { click: () => {
    root.dataset.theme = isDark() ? 'light' : 'dark';
    update();
  } } });
  const update = () => {
    button.textContent = isDark() ? 'Light' : 'Dark';
    button.setAttribute('aria-label', `Switch to ${isDark() ? 'light' : 'dark'} colours`);
    change();
  };
  system.addEventListener('change', () => { if (!root.dataset.theme) update(); });
  button.textContent = isDark() ? 'Light' : 'Dark';
  return { button, isDark };
}
