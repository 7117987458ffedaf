// The legend of the colours: classes to click, or a scale with a histogram to brush.

import { counted, element, formatted, svg, words } from './dom.js';

const [WIDTH, HEIGHT] = [280, 64];

export function legend(state, dark, changed) {
  if (state.colour < 0) return element('p', { class: 'hint', text: 'All points have one colour.' });
  const column = state.columns[state.colour];
  return column.kind === 'category' ? classes(state, dark, changed) : histogram(state, dark, changed);
}

function classes(state, dark, changed) {
  const index = state.colour;
  const column = state.columns[index];
  const { counts } = state.summary(index);
  const { colours } = state.colours(dark);
  const shown = state.filters.get(index)?.levels;
  const item = (code, name, missing = false) => {
    const dot = element('span', { class: 'dot' });
    dot.style.background = colours[code];
    const label = missing ? element('em', { text: name }) : words(name);
    const button = element('button', {
      type: 'button', class: 'class', 'aria-pressed': shown?.has(code) ? 'true' : 'false', 'data-code': code,
      on: { click: () => changed(() => state.toggleLevel(index, code)) },
    }, dot, label, element('span', { class: 'amount', text: counts[code].toLocaleString('en') }));
    if (shown && !shown.has(code)) button.classList.add('off');
    return element('li', {}, button);
  };
  const order = column.levels.map((_, i) => i + 1).filter((code) => counts[code]);
  if (order.length > 20) order.sort((a, b) => counts[b] - counts[a]);
  const items = order.slice(0, 200).map((code) => item(code, column.levels[code - 1]));
  if (counts[0]) items.push(item(0, 'missing', true));
  const more = order.length > 200 ? element('p', { class: 'hint', text: `${counted(order.length - 200, 'smaller class', 'smaller classes')} not listed` }) : null;
  return element('div', {}, element('ul', { class: 'legend', 'aria-label': 'Classes; click to show only these' }, ...items), more);
}

function histogram(state, dark, changed) {
  const index = state.colour;
  const column = state.columns[index];
  const { low, high, least, most, from, to, bins, missing } = state.summary(index);
  const { colours } = state.colours(dark);
  const range = state.filters.get(index);
  const top = Math.max(...bins, 1);
  const step = WIDTH / bins.length;
  const value = (x) => from + ((to - from) * Math.min(Math.max(x, 0), WIDTH)) / WIDTH;
  const place = (v) => (to > from ? (WIDTH * (v - from)) / (to - from) : 0);
  const bars = Array.from(bins, (count, i) => {
    const height = count ? Math.max((HEIGHT - 4) * Math.sqrt(count / top), 1.5) : 0;
    const bar = svg('rect', { x: i * step + 0.5, y: HEIGHT - height, width: step - 1, height });
    bar.style.fill = colours[1 + Math.round(((i + 0.5) / bins.length) * 63)];
    const centre = value((i + 0.5) * step);
    if (range && (centre < range.low || centre > range.high)) bar.classList.add('off');
    return bar;
  });
  const brush = svg('rect', { class: 'brush', y: 0, height: HEIGHT, x: 0, width: 0 });
  const cover = (from, to) => {
    brush.setAttribute('x', Math.min(from, to));
    brush.setAttribute('width', Math.abs(to - from));
  };
  if (range) cover(Math.max(place(range.low), 0), Math.min(place(range.high), WIDTH));
  const chart = svg('svg', { class: 'histogram', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': `Histogram of ${column.name}`, preserveAspectRatio: 'none' }, ...bars, brush);
  drag(chart, cover, (one, other) => changed(() => {
    const wide = Math.abs(one - other) >= 3; // a click shows everything again
    state.brush(index, wide ? ends(value(Math.min(one, other)), value(Math.max(one, other)), { low, high, least, most }) : null);
  }));
  const input = (name, start) => element('input', {
    type: 'number', step: 'any', 'aria-label': `${name} ${column.name}`, value: Number(start.toPrecision(6)),
    on: { change: (event) => {
      const now = state.filters.get(index) ?? { low: least, high: most };
      const wanted = { ...now, [name === 'lowest' ? 'low' : 'high']: Number(event.target.value) };
      changed(() => state.brush(index, [wanted.low, wanted.high]));
    } },
  });
  const text = column.date ? (v) => new Date(v * 864e5).toISOString().slice(0, 10) : formatted;
  return element('div', {}, chart,
    element('div', { class: 'ends' }, element('span', { text: `${low > least ? '≤ ' : ''}${text(low)}` }), element('span', { text: `${high < most ? '≥ ' : ''}${text(high)}` })),
    element('div', { class: 'range' }, element('span', { text: 'Show' }), input('lowest', range?.low ?? least), element('span', { text: 'to' }), input('highest', range?.high ?? most)),
    missing ? element('p', { class: 'hint', text: `${counted(missing, 'point')} without a value` }) : null);
}

// A brush that reaches the end of the colours reaches the end of the values.
const ends = (from, to, { low, high, least, most }) => [from <= low ? least : from, to >= high ? most : to];

function drag(chart, cover, done) {
  let start = null;
  const at = (event) => {
    const box = chart.getBoundingClientRect();
    return Math.min(Math.max(((event.clientX - box.left) / box.width) * WIDTH, 0), WIDTH);
  };
  chart.addEventListener('pointerdown', (event) => {
    start = at(event);
    chart.setPointerCapture(event.pointerId);
    event.preventDefault();
  });
  chart.addEventListener('pointermove', (event) => { if (start !== null) cover(start, at(event)); });
  chart.addEventListener('pointerup', (event) => {
    if (start === null) return;
    const from = start;
    start = null;
    done(from, at(event));
  });
}
