// A group of points: its size, what sets it apart, and its ids as a file.

import { counted, element, formatted, percent, words } from './dom.js';

const MOST = 8;

// The largest differences between a group and all points: in the share of a class, and in a mean (in standard
// deviations; two of them weigh as much as a share that differs by one).
export function differences(state, group) {
  const found = [];
  const all = state.source.count;
  state.columns.forEach((column, index) => {
    if (column.kind === 'category') {
      const { counts } = state.summary(index);
      const inside = new Uint32Array(counts.length);
      for (const place of group) inside[column.codes[place]]++;
      for (let code = 1; code < counts.length; code++) {
        if (!inside[code] && !counts[code]) continue;
        const [here, there] = [inside[code] / group.length, counts[code] / all];
        found.push({ column: column.name, level: column.levels[code - 1], here, there, weight: Math.abs(here - there) });
      }
    } else if (column.kind === 'number') {
      const everyone = moments(column.values, null);
      const here = moments(column.values, group);
      if (!here.count || !everyone.deviation) return;
      const weight = Math.abs(here.mean - everyone.mean) / everyone.deviation / 2;
      found.push({ column: column.name, level: null, here: here.mean, there: everyone.mean, weight });
    }
  });
  return found.filter((one) => one.weight > 0.005).sort((a, b) => b.weight - a.weight).slice(0, MOST);
}

function moments(values, places) {
  let [count, sum, squares] = [0, 0, 0];
  for (const i of places ?? values.keys()) {
    const value = values[i];
    if (value !== value) continue;
    count++;
    sum += value;
    squares += value * value;
  }
  const mean = sum / count;
  return { count, mean, deviation: Math.sqrt(Math.max(squares / count - mean * mean, 0)) };
}

const field = (text) => (/[",\r\n]/.test(text) || text.trim() !== text ? `"${text.replaceAll('"', '""')}"` : text);

export async function saveIds(source, group) {
  const ids = source.idsOf ? await source.idsOf(group) : Array.from(group, (place) => source.id(place));
  const file = new Blob([['id', ...ids.map(field)].join('\n'), '\n'], { type: 'text/csv' });
  const link = element('a', { href: URL.createObjectURL(file), download: 'ids.csv' });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export function groupPanel(state, group, actions) {
  const rows = differences(state, group).map((one) => {
    const show = one.level === null ? formatted : percent;
    const up = one.here >= one.there;
    return element('tr', {},
      element('th', { scope: 'row' }, words(one.column), one.level === null ? element('span', { text: ' (mean)', class: 'soft' }) : null, one.level === null ? null : element('br'), one.level === null ? null : words(one.level, 'level')),
      element('td', { class: `number ${up ? 'above' : 'below'}`, text: `${up ? '▲' : '▼'} ${show(one.here)}` }),
      element('td', { class: 'number', text: show(one.there) }));
  });
  const table = rows.length
    ? element('table', { class: 'apart' }, element('thead', {}, element('tr', {},
        element('th', { scope: 'col', text: 'What sets it apart' }), element('th', { scope: 'col', class: 'number', text: 'group' }), element('th', { scope: 'col', class: 'number', text: 'all' }))),
      element('tbody', {}, ...rows))
    : element('p', { class: 'hint', text: 'No column sets this group apart.' });
  return element('div', { class: 'group' },
    element('h3', { text: counted(group.length, 'point') }),
    element('p', { class: 'hint', text: `${percent(group.length / state.source.count)} of ${counted(state.source.count, 'point')}` }),
    table,
    element('div', { class: 'buttons' },
      element('button', { type: 'button', id: 'save', text: 'Save ids as CSV', on: { click: () => saveIds(state.source, group) } }),
      element('button', { type: 'button', text: 'Zoom to it', on: { click: actions.zoom } }),
      element('button', { type: 'button', text: 'Clear', on: { click: actions.clear } })));
}
