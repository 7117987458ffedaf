// What is shown: colour, size, filters and selection; and the numbers that the maps draw for them.

import { classColours, scale } from './colour.js';

const STEPS = 64; // of the colour scale
const BINS = 40;
const MOST_CLASSES = 5; // among what a search finds

export class State {
  constructor(source) {
    this.source = source;
    this.columns = source.columns;
    this.colour = this.columns.findIndex((column) => column.name === source.header.colour);
    this.size = -1;
    this.filters = new Map(); // column number -> { levels: Set of codes } or { low, high }
    this.selected = -1;
    this.group = null;
    const shown = source.header.hover ?? [];
    this.hover = new Set(this.columns.map((_, i) => i).filter((i) => shown.includes(this.columns[i].name)));
    this.summaries = new Map();
  }

  get numeric() { return this.columns.map((_, i) => i).filter((i) => this.columns[i].kind === 'number'); }

  get colourable() { return this.columns.map((_, i) => i).filter((i) => this.columns[i].kind !== 'text'); }

  // Counts of the classes of a column, or its range and histogram; of the points that are here.
  summary(index) {
    const known = this.summaries.get(index);
    if (known && known.count === this.source.count) return known;
    const column = this.columns[index];
    const made = column.kind === 'category' ? classCounts(column) : spread(column.values);
    made.count = this.source.count;
    this.summaries.set(index, made);
    return made;
  }

  // A colour number per point, and the colours; number 0 is a missing value.
  colours(dark) {
    const { palette } = this.source.header;
    const count = this.source.count;
    if (this.colour < 0) return { colour: new Uint8Array(count).fill(1), colours: palette[dark ? 'dark' : 'light'].few.slice(0, 1).flatMap((c) => [c, c]) };
    const column = this.columns[this.colour];
    const summary = this.summary(this.colour);
    if (column.kind === 'category')
      return { colour: column.codes, colours: classColours(column, summary.counts, palette, dark) };
    const { low, high } = summary;
    const colour = new Uint8Array(count);
    const factor = high > low ? (STEPS - 1) / (high - low) : 0;
    for (let i = 0; i < count; i++) {
      const value = column.values[i];
      if (value === value) colour[i] = 1 + Math.round(Math.min(Math.max((value - low) * factor, 0), STEPS - 1));
    }
    return { colour, colours: [palette[dark ? 'dark' : 'light'].missing, ...scale(dark)] };
  }

  // Sizes in [0, 1]: areas grow with the value.
  sizes() {
    if (this.size < 0) return null;
    const { values } = this.columns[this.size];
    const { low, high } = this.summary(this.size);
    const made = new Float32Array(this.source.count);
    const factor = high > low ? 1 / (high - low) : 0;
    for (let i = 0; i < made.length; i++) {
      const share = Math.min(Math.max((values[i] - low) * factor, 0), 1);
      made[i] = share === share ? Math.sqrt(share) : 0;
    }
    return made;
  }

  // The places that no filter hides; null if there are no filters.
  visible() {
    if (!this.filters.size) return null;
    const tests = [...this.filters].map(([index, filter]) => {
      const column = this.columns[index];
      if (filter.levels) return (i) => filter.levels.has(column.codes[i]);
      return (i) => column.values[i] >= filter.low && column.values[i] <= filter.high;
    });
    const found = [];
    for (let i = 0; i < this.source.count; i++) if (tests.every((test) => test(i))) found.push(i);
    return found;
  }

  toggleLevel(index, code) {
    const levels = this.filters.get(index)?.levels ?? new Set();
    if (levels.has(code)) levels.delete(code);
    else levels.add(code);
    if (levels.size) this.filters.set(index, { levels });
    else this.filters.delete(index);
  }

  // Classes whose name contains a text: those with this very name first, then the larger ones.
  classes(wanted) {
    const found = [];
    this.columns.forEach((column, index) => {
      if (column.kind !== 'category') return;
      const { counts } = this.summary(index);
      column.levels.forEach((name, i) => {
        const same = name.toLowerCase();
        if (counts[i + 1] && same.includes(wanted)) found.push({ index, code: i + 1, column: column.name, name, count: counts[i + 1], exact: same === wanted });
      });
    });
    return found.sort((a, b) => b.exact - a.exact || b.count - a.count).slice(0, MOST_CLASSES);
  }

  brush(index, range) {
    if (range) this.filters.set(index, { low: range[0], high: range[1] });
    else this.filters.delete(index);
  }

  value(index, place) {
    const column = this.columns[index];
    if (column.kind === 'category') return column.codes[place] ? column.levels[column.codes[place] - 1] : null;
    if (column.kind === 'number') return Number.isNaN(column.values[place]) ? null : column.values[place];
    return column.texts ? column.texts.at(place) : undefined;
  }
}

function classCounts(column) {
  const counts = new Uint32Array(column.levels.length + 1);
  for (const code of column.codes) counts[code]++;
  return { counts };
}

// The range that the colours cover: all of it, or without the outer percent where a few values stretch it.
function spread(values) {
  const known = Float64Array.from(values).filter((value) => value === value).sort();
  if (!known.length) return { low: 0, high: 0, least: 0, most: 0, from: 0, to: 0, bins: new Uint32Array(BINS), missing: values.length };
  const at = (share) => known[Math.round(share * (known.length - 1))];
  const [least, most] = [known[0], known[known.length - 1]];
  const [low, high] = most - least > 3 * (at(0.99) - at(0.01)) && at(0.99) > at(0.01) ? [at(0.01), at(0.99)] : [least, most];
  // A bar per integer where there are few; half of it is on each side of the number.
  const whole = high - low < BINS && known.every(Number.isInteger);
  const [from, to] = whole ? [low - 0.5, high + 0.5] : [low, high];
  const bins = new Uint32Array(whole ? high - low + 1 : BINS);
  const factor = to > from ? bins.length / (to - from) : 0;
  for (const value of known) bins[Math.min(Math.max(Math.floor((value - from) * factor), 0), bins.length - 1)]++;
  return { low, high, least, most, from, to, bins, missing: values.length - known.length };
}
