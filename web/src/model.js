// The model that made the vectors: loss curve, choices and card.

import { element, formatted, svg } from './dom.js';

const [WIDTH, HEIGHT, LEFT, BOTTOM] = [300, 130, 42, 22];

export function modelPanel(model) {
  const rows = model.choices.map(([name, value]) => element('tr', {}, element('th', { scope: 'row', text: name }), element('td', { text: value })));
  return element('details', { class: 'model', id: 'model' }, element('summary', { text: 'The model' }),
    model.losses.length > 1 ? curve(model.losses) : null,
    element('div', { class: 'box', tabindex: 0, role: 'region', 'aria-label': 'Choices' }, element('table', {}, element('tbody', {}, ...rows))),
    model.card ? element('details', {}, element('summary', { text: 'Model card' }), element('pre', { text: model.card })) : null);
}

function curve(losses) {
  const [low, high] = [Math.min(...losses), Math.max(...losses)];
  const x = (i) => LEFT + ((WIDTH - LEFT - 6) * i) / (losses.length - 1);
  const y = (loss) => 8 + (HEIGHT - BOTTOM - 8) * (high > low ? (high - loss) / (high - low) : 0.5);
  const path = losses.map((loss, i) => `${i ? 'L' : 'M'}${x(i).toFixed(1)} ${y(loss).toFixed(1)}`).join('');
  const text = (content, at) => { const made = svg('text', at); made.textContent = content; return made; };
  return element('figure', {}, element('figcaption', { text: 'Loss by epoch' }),
    svg('svg', { class: 'chart', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': `Loss over ${losses.length} epochs, from ${formatted(losses[0])} to ${formatted(losses.at(-1))}` },
      ...[high, low].flatMap((value) => [svg('path', { class: 'grid', d: `M${LEFT} ${y(value)}H${WIDTH - 6}` }), text(formatted(Number(value.toPrecision(3))), { class: 'end', x: LEFT - 6, y: y(value) + 4 })]),
      svg('path', { class: 'line loss', d: path }),
      text('1', { class: 'middle', x: LEFT, y: HEIGHT - 4 }), text(`${losses.length}`, { class: 'end', x: WIDTH - 6, y: HEIGHT - 4 })));
}
