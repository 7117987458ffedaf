// Elements. Text is only ever set as text content, so that no value of a table can become markup.

export function element(tag, options = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === 'text') made.textContent = value;
    else if (name === 'on') for (const [event, action] of Object.entries(value)) made.addEventListener(event, action);
    else if (name === 'class') made.className = value;
    else if (value === true) made.setAttribute(name, '');
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export const byId = (id) => document.getElementById(id);

// A name or value from a file: its own direction of writing, and never wider than its place.
export const words = (text, more = '') => element('bdi', { text, class: `words ${more}`.trim() });

const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export function formatted(value) {
  if (!Number.isFinite(value)) return 'missing';
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return Math.abs(value) < 10000 ? `${value}` : WHOLE.format(value);
  const size = Math.abs(value);
  return size >= 1e6 || size < 1e-3 ? value.toExponential(2) : `${Number(value.toPrecision(4))}`;
}

export const counted = (count, one, many = `${one}s`) => `${WHOLE.format(count)} ${count === 1 ? one : many}`;
export const percent = (share) => `${(100 * share).toFixed(share > 0 && share < 0.0995 ? 1 : 0)}%`;
