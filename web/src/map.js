// One map: points by regl-scatterplot on a WebGL canvas; lines and rings in a drawing above it.

import createScatterplot from 'regl-scatterplot';
import { element, svg } from './dom.js';
import { touch } from './touch.js';

const SIZES = [[2000, 7], [10000, 5], [50000, 3.5], [200000, 2.5], [Infinity, 1.6]]; // points up to this many, pixels
const OPACITY = [[2000, 0.9], [20000, 0.8], [100000, 0.65], [Infinity, 0.45]];
const LAYERS = ['edges', 'links', 'halo', 'rings', 'ring', 'hovered']; // from the lowest to the uppermost
const [SLOW, REST, FEW] = [80, 250, 20000]; // milliseconds of a frame, milliseconds of rest, points of a quick picture
const upTo = (table, count) => table.find(([most]) => count <= most)[1];
const cssColour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const frames = (count, then) => requestAnimationFrame(count > 1 ? () => frames(count - 1, then) : then);
const short = (value) => value.toFixed(1);
const lines = (from, ends) => ends.map((to) => `M${from.map(short).join(' ')}L${to.map(short).join(' ')}`).join('');

function circle(at, radius) {
  if (!at) return '';
  const [y, r] = [at[1], radius].map(short);
  return `M${short(at[0] - radius)} ${y}a${r} ${r} 0 1 0 ${short(2 * radius)} 0a${r} ${r} 0 1 0 ${short(-2 * radius)} 0`;
}

export class MapView {
  // `on` has hover(place), select(places), clear() and moved(view).
  constructor(parent, name, number, on) {
    this.canvas = element('canvas', {
      class: 'points', tabindex: 0, role: 'application', 'aria-describedby': 'keys',
      'aria-label': name ? `Map of ${name}` : 'Map of the points',
    });
    this.paths = Object.fromEntries(LAYERS.map((name) => [name, svg('path', { class: name })]));
    this.overlay = svg('svg', { class: 'overlay', 'aria-hidden': 'true' }, ...Object.values(this.paths));
    this.box = element('div', { class: 'map' }, this.canvas, this.overlay, name ? element('h2', { text: name, class: 'map-name' }) : null);
    parent.append(this.box);
    this.number = number;
    this.on = on;
    this.marks = { selected: -1, hovered: -1, neighbors: [], edges: [] };
    this.ready = false;
    this.pending = Promise.resolve();
    const { width, height } = this.box.getBoundingClientRect();
    this.plot = createScatterplot({
      canvas: this.canvas, width, height, spatialIndexUseWorker: false, pointSizeSelected: 0, pointOutlineWidth: 0,
      lassoMinDelay: 8, lassoMinDist: 2, opacityInactiveMax: 0.12, opacityInactiveScale: 0.3, deselectOnEscape: false,
      pointScaleMode: 'asinh',
    });
    this.plot.subscribe('pointover', (place) => on.hover(this, place));
    this.plot.subscribe('pointout', () => on.hover(this, -1));
    this.plot.subscribe('select', ({ points }) => on.select(points));
    this.plot.subscribe('deselect', () => on.clear());
    this.plot.subscribe('view', () => { this.drawOverlay(); this.lighten(); on.moved(this); });
    this.plot.subscribe('draw', () => { this.drawn = performance.now(); });
    this.lassoing = false;
    this.resizer = new ResizeObserver(() => this.resize());
    this.resizer.observe(this.box);
    for (const event of ['mousedown', 'wheel']) this.canvas.addEventListener(event, () => { this.moved = true; }, { passive: true });
    touch(this);
  }

  get supported() { return this.plot.isSupported; }

  resize() {
    const { width, height } = this.box.getBoundingClientRect();
    if (!width || !height || (width === this.width && height === this.height)) return;
    [this.width, this.height] = [width, height];
    this.plot.set({ width, height });
    if (this.ready && !this.moved) this.fit(false);
    this.drawOverlay();
  }

  // Draw points with colour and size values in [0, 1] or class numbers; calls follow each other.
  show(data) {
    const task = async () => {
      const { x, y, colour, size, colours, classes, filter, dark } = data;
      const count = x.length;
      this.data = data;
      const base = this.size;
      this.plot.set({
        backgroundColor: cssColour('--paper') || '#ffffff',
        colorBy: 'valueA', pointColor: colours.length > 1 ? colours : [...colours, colours[0]],
        pointColorActive: colours.length > 1 ? colours : [...colours, colours[0]],
        pointColorHover: cssColour('--ink') || '#000000',
        opacity: upTo(OPACITY, count), lassoColor: cssColour('--link') || '#0b5cad',
        sizeBy: size ? 'valueB' : null,
        pointSize: size ? Array.from({ length: 24 }, (_, i) => base * (0.6 + (2.4 * i) / 23)) : base,
      });
      const points = { x, y, valueA: colour, valueB: size ?? new Float32Array(count) };
      this.light = false;
      const same = this.drawnX === x;
      await this.plot.draw(points, {
        zDataType: classes ? 'categorical' : 'continuous', wDataType: 'continuous',
        ...(same ? { spatialIndex: this.plot.get('spatialIndex') } : {}),
      });
      this.drawnX = x;
      if (filter) await this.plot.filter(filter, { preventEvent: true });
      const first = !this.ready;
      this.ready = true;
      if (first) {
        await this.fit(false);
        this.time();
      }
      this.highlight(data.group);
      this.drawOverlay();
    };
    this.pending = this.pending.then(task, task);
    return this.pending;
  }

  filter(places) {
    const task = async () => {
      this.light = false;
      if (places) await this.plot.filter(places, { preventEvent: true });
      else await this.plot.unfilter({ preventEvent: true });
    };
    this.pending = this.pending.then(task, task);
    return this.pending;
  }

  // While the map moves, draw only some of the points where frames take long; all of them once it rests.
  lighten() {
    const mine = (this.views = (this.views ?? 0) + 1);
    clearTimeout(this.resting);
    // Where a frame takes longer than the rest, a movement that goes on is only seen after some frames.
    this.resting = setTimeout(() => frames(3, () => { if (this.views === mine) this.complete(); }), REST);
    if (this.light || !this.ready || !this.moved || this.data.x.length <= 2 * FEW) return;
    if (this.slow) this.thin();
  }

  // Find out whether frames are slow: draw one, and read from it, which waits until it is there.
  time() {
    if (this.data.x.length <= 2 * FEW) return;
    const gl = this.plot.get('regl')._gl;
    const wait = () => gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
    wait();
    const began = performance.now();
    this.plot.subscribe('draw', () => { wait(); this.slow = performance.now() - began > SLOW; }, 1);
    this.plot.redraw();
  }

  thin() {
    const { filter, x } = this.data;
    const all = filter ?? { length: x.length };
    const step = Math.ceil(all.length / FEW);
    this.light = true;
    const some = Array.from({ length: Math.floor(all.length / step) }, (_, i) => (filter ? filter[i * step] : i * step));
    this.plot.filter(some, { preventEvent: true });
  }

  async complete() {
    if (!this.light) return;
    await this.filter(this.data.filter);
    this.highlight(this.data.group);
  }

  // Emphasise a group; the others fade.
  highlight(places) {
    if (!this.ready) return;
    this.data.group = places;
    if (places && places.length) this.plot.select(Array.from(places), { preventEvent: true });
    else this.plot.deselect({ preventEvent: true });
  }

  lasso(on) {
    this.lassoing = on;
    this.plot.set({ mouseMode: on ? 'lasso' : 'panZoom' });
    this.box.classList.toggle('lassoing', on);
  }

  async fit(transition = true, places = null) {
    if (!this.ready) return;
    const { x, y } = this.data;
    let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    const all = places ?? x.keys();
    for (const i of all) {
      if (x[i] < left) left = x[i];
      if (x[i] > right) right = x[i];
      if (y[i] < low) low = y[i];
      if (y[i] > high) high = y[i];
    }
    if (!(right >= left)) return;
    const least = places ? 0.12 : 0.01;
    const width = Math.max(right - left, least) * 1.1;
    const height = Math.max(high - low, least) * 1.1;
    const area = { x: (left + right - width) / 2, y: (low + high - height) / 2, width, height };
    this.moved = places != null;
    this.fitting = this.plot.zoomToArea(area, { transition, transitionDuration: 250 });
    await this.fitting;
    this.fitting = null;
    this.drawOverlay();
  }

  // Move by a share of the width and height, and zoom about a place in the canvas.
  async pan(right, up) {
    await this.fitting;
    this.moved = true;
    this.plot.get('camera').pan([2 * right * this.aspect, 2 * up]);
    this.plot.redraw();
  }

  async zoom(factor, at = [this.width / 2, this.height / 2]) {
    await this.fitting;
    this.moved = true;
    const centre = [((2 * at[0]) / this.width - 1) * this.aspect, 1 - (2 * at[1]) / this.height];
    this.plot.get('camera').scale(factor, centre);
    this.plot.redraw();
  }

  get aspect() { return this.width / this.height; }

  // The visible part of the map: left, right, bottom, top.
  get window() {
    const inverse = this.plot.get('camera').view;
    const [sx, sy, tx, ty] = [inverse[0], inverse[5], inverse[12], inverse[13]];
    return [(-this.aspect - tx) / sx, (this.aspect - tx) / sx, (-1 - ty) / sy, (1 - ty) / sy];
  }

  position(place) { return place >= 0 && this.ready ? this.plot.getScreenPosition(place) : undefined; }

  nearest(px, py, most = Infinity) {
    const [left, right, low, high] = this.window;
    const [mx, my] = [left + ((right - left) * px) / this.width, high - ((high - low) * py) / this.height];
    const reach = Number.isFinite(most) ? (most * (right - left)) / this.width : Infinity;
    const { x, y, filter } = this.data;
    let [best, found] = [reach * reach, -1];
    for (const i of filter ?? x.keys()) {
      const distance = (x[i] - mx) ** 2 + (y[i] - my) ** 2;
      if (distance < best) [best, found] = [distance, i];
    }
    return found;
  }

  inView() {
    const [left, right, low, high] = this.window;
    const { x, y, filter } = this.data;
    const found = [];
    for (const i of filter ?? x.keys()) if (x[i] >= left && x[i] <= right && y[i] >= low && y[i] <= high) found.push(i);
    return found;
  }

  mark(marks) {
    Object.assign(this.marks, marks);
    this.drawOverlay();
  }

  drawOverlay() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.paint(); });
  }

  paint() {
    const { selected, hovered, neighbors, edges } = this.marks;
    const centre = this.position(selected);
    const ends = (places) => (centre ? places.map((place) => this.position(place)).filter(Boolean) : []);
    const others = ends(neighbors);
    const near = this.ready ? this.radius : 0;
    const rings = others.map((at) => circle(at, near + 3)).join('');
    const ring = centre ? circle(centre, near + 5) : '';
    const above = hovered >= 0 ? circle(this.position(hovered), near + 3) : '';
    this.draw('edges', lines(centre, ends(edges)));
    this.draw('links', lines(centre, others));
    this.draw('halo', rings + ring + above);
    this.draw('rings', rings);
    this.draw('ring', ring);
    this.draw('hovered', above);
  }

  draw(name, path) { this.paths[name].setAttribute('d', path); }

  // The radius of a point in pixels: it grows with the zoom, ever more slowly.
  get radius() {
    const zoom = this.plot.get('camera').scaling[0];
    const grown = zoom > 1 ? Math.asinh(zoom) / Math.asinh(1) : zoom;
    return Math.max(3, (this.size * grown) / 2);
  }

  // The diameter of a point that is not zoomed: smaller on a phone and where there are many.
  get size() { return upTo(SIZES, this.data.x.length) * Math.min(1, Math.max(0.7, Math.sqrt(Math.min(this.width, this.height) / 700))); }
}
