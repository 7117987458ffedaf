// A graph as a small drawing: nodes pushed apart, edges pulled together, coloured by node label.

import { element, svg } from './dom.js';

const ROUNDS = 120;

// The drawing of the graph that a point stands for; room is kept for one that the server has yet to send.
export function thumbnail(source, place, size) {
  if (!source.graph) return null;
  const holder = element('div', {});
  const show = (graph) => holder.replaceChildren(drawing(graph, source.header.graphs.most, size));
  const graph = source.graph(place);
  if (graph.then) {
    holder.style.minHeight = `${size}px`;
    graph.then(show);
  } else show(graph);
  return holder;
}

function drawing({ nodes: count, edges, labels }, most, size) {
  if (count > most) return element('p', { class: 'hint', text: `${count.toLocaleString('en')} nodes, too many to draw` });
  const [x, y] = arranged(count, edges);
  const fit = fitted(x, y, size);
  const lines = edges.map(([a, b]) => svg('line', { x1: fit(x[a], 0), y1: fit(y[a], 1), x2: fit(x[b], 0), y2: fit(y[b], 1) }));
  const radius = Math.max(1.6, Math.min(5, 24 / Math.sqrt(count)));
  const dots = Array.from({ length: count }, (_, i) => {
    const label = labels ? labels[i] : 0;
    const dot = svg('circle', { cx: fit(x[i], 0), cy: fit(y[i], 1), r: radius, 'data-label': label });
    dot.style.fill = `var(--series-${label % 8})`;
    return dot;
  });
  return svg('svg', { class: 'thumbnail', viewBox: `0 0 ${size} ${size}`, width: size, height: size, role: 'img', 'aria-label': `${count} nodes, ${edges.length} edges` }, ...lines, ...dots);
}

// Fruchterman and Reingold's layout, from a circle: the same graph always looks the same.
function arranged(count, edges) {
  const x = Float64Array.from({ length: count }, (_, i) => Math.cos((2 * Math.PI * i) / count));
  const y = Float64Array.from({ length: count }, (_, i) => Math.sin((2 * Math.PI * i) / count));
  const ideal = 2 / Math.sqrt(count || 1);
  for (let round = 0; round < ROUNDS; round++) {
    const [dx, dy] = [new Float64Array(count), new Float64Array(count)];
    const push = (a, b, force) => {
      const [ex, ey] = [x[a] - x[b], y[a] - y[b]];
      const distance = Math.hypot(ex, ey) || 1e-6;
      const strength = force(distance) / distance;
      dx[a] += ex * strength; dy[a] += ey * strength;
      dx[b] -= ex * strength; dy[b] -= ey * strength;
    };
    for (let a = 0; a < count; a++) for (let b = 0; b < a; b++) push(a, b, (d) => (ideal * ideal) / d);
    for (const [a, b] of edges) push(a, b, (d) => (-d * d) / ideal);
    const heat = 0.2 * (1 - round / ROUNDS);
    for (let i = 0; i < count; i++) {
      const length = Math.hypot(dx[i], dy[i]) || 1;
      x[i] += (dx[i] / length) * Math.min(length, heat) - 0.01 * x[i];
      y[i] += (dy[i] / length) * Math.min(length, heat) - 0.01 * y[i];
    }
  }
  return [x, y];
}

function fitted(x, y, size) {
  const range = (values) => [Math.min(...values, 0), Math.max(...values, 0)];
  const [[left, right], [low, high]] = [range(x), range(y)];
  const scale = (size - 16) / (Math.max(right - left, high - low) || 1);
  const middle = [(left + right) / 2, (low + high) / 2];
  return (value, axis) => (size / 2 + (value - middle[axis]) * scale).toFixed(1);
}
