// One selected point: its columns, and its nearest neighbours, each a step away.

import { counted, element, formatted, words } from './dom.js';
import { thumbnail } from './graphs.js';

export function valueNode(state, index, place, texts) {
  const column = state.columns[index];
  const value = column.kind === 'text' ? texts?.get(column.name) ?? state.value(index, place) : state.value(index, place);
  if (value === null || value === undefined || value === '') return element('em', { class: 'soft', text: 'missing' });
  if (column.date) return element('span', { text: new Date(value * 864e5).toISOString().slice(0, 10) });
  return typeof value === 'number' ? element('span', { text: formatted(value) }) : words(value);
}

export function nodePanel(state, place, found, actions) {
  const { details, lists, edges, maps } = found;
  const rows = state.columns.map((_, index) => element('tr', {},
    element('th', { scope: 'row' }, words(state.columns[index].name)),
    element('td', {}, valueNode(state, index, place, details.texts))));
  const drawing = thumbnail(state.source, place, 180);
  return element('div', { class: 'node' },
    element('h3', {}, words(details.id, 'id')),
    drawing,
    rows.length ? element('div', { class: 'box', tabindex: 0, role: 'region', 'aria-label': 'Columns' }, element('table', {}, element('tbody', {}, ...rows))) : null,
    edges ? element('p', { class: 'hint', text: `${counted(edges.length, 'edge')}, drawn as lines` }) : null,
    ...lists.map((list, number) => neighborList(list, number, lists, maps, actions)),
    element('div', { class: 'buttons' },
      element('button', { type: 'button', text: 'Zoom to it', on: { click: actions.zoom } }),
      element('button', { type: 'button', text: 'Back', disabled: !actions.canGoBack, on: { click: actions.back } }),
      element('button', { type: 'button', text: 'Clear', on: { click: actions.clear } })));
}

function neighborList(list, number, lists, maps, actions) {
  const name = lists.length > 1 ? `Nearest in ${maps[number].name}` : 'Nearest neighbours';
  if (!list.length) return element('p', { class: 'hint', text: `${name}: none` });
  const others = new Set(lists.filter((_, i) => i !== number).flat().map((one) => one.id));
  const items = list.map((one, rank) => {
    const bar = element('span', { class: 'bar', 'aria-hidden': 'true' });
    bar.style.width = `${Math.max(0, one.cosine) * 100}%`;
    const dot = element('span', { class: 'dot', 'aria-hidden': 'true' });
    if (one.place >= 0) dot.style.background = actions.colour(one.place);
    const shared = lists.length > 1 && others.has(one.id);
    return element('li', {}, element('button', {
      type: 'button', class: `neighbor${shared ? ' shared' : ''}`, 'data-rank': rank, title: shared ? 'a neighbour on both sides' : '',
      on: { click: () => actions.step(one), mouseenter: () => actions.look(one.place), mouseleave: () => actions.look(-1), focus: () => actions.look(one.place) },
    }, dot, words(one.id), shared ? element('span', { class: 'both', text: 'both' }) : null, element('span', { class: 'cosine', text: one.cosine.toFixed(3) }), bar));
  });
  return element('div', {}, element('h4', { text: name }, element('span', { class: 'soft', text: ' cosine' })), element('ol', { class: 'neighbors' }, ...items));
}
