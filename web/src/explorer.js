// The page: maps on one side, what is known about them on the other.

import { hoverChoices, keyboard, keyHelp, menu, themeButton, toolbar } from './controls.js';
import { byId, counted, element, words } from './dom.js';
import { thumbnail } from './graphs.js';
import { groupPanel } from './group.js';
import { legend } from './legend.js';
import { MapView } from './map.js';
import { modelPanel } from './model.js';
import { nodePanel, valueNode } from './node.js';
import { searchBox } from './search.js';
import { State } from './state.js';

export class Explorer {
  constructor(source, root) {
    this.source = source;
    this.state = new State(source);
    this.history = [];
    this.visited = new Set();
    this.theme = themeButton(() => this.draw());
    this.build(root);
    keyboard(this.actions);
  }

  get actions() {
    return {
      zoom: (factor) => this.maps.forEach((map) => map.zoom(factor)),
      pan: (right, up) => this.maps.forEach((map) => map.pan(right, up)),
      fit: () => this.maps.forEach((map) => map.fit()),
      lasso: () => this.lasso(!this.maps[0].lassoing),
      view: () => this.select(this.focused.inView()),
      centre: () => this.select([this.focused.nearest(this.focused.width / 2, this.focused.height / 2)].filter((p) => p >= 0)),
      next: () => this.next(), back: () => this.back(), clear: () => this.clear(), search: () => byId('search').focus(),
    };
  }

  get focused() { return this.maps.find((map) => map.canvas === document.activeElement) ?? this.maps[0]; }

  build(root) {
    const { header } = this.source;
    const state = this.state;
    document.title = header.title;
    this.status = element('p', { id: 'status', class: 'hidden', role: 'status' });
    this.shown = element('p', { class: 'soft', id: 'count' });
    const bar = element('header', { class: 'top' }, element('div', { class: 'name' }, element('h1', {}, words(header.title)), this.shown),
      searchBox((text) => this.search(text), (hit) => (hit.code ? this.showClass(hit) : this.jump(hit))), this.theme.button);
    this.holder = element('main', { class: `maps maps-${this.source.maps.length}`, 'aria-label': 'Maps' });
    const named = (indices, none) => [[-1, none], ...indices.map((i) => [i, state.columns[i].name])];
    this.legend = element('div', { id: 'legend' });
    this.chosen = element('section', { id: 'chosen', 'aria-label': 'Selection' });
    this.reset = element('button', { type: 'button', id: 'reset', text: 'Show all points', hidden: true, on: { click: () => { state.filters.clear(); this.filtered(); } } });
    const panel = element('aside', { class: 'panel', 'aria-label': 'Colours, selection and details' },
      element('section', {}, menu('Colour by', 'colour', named(state.colourable, 'one colour'), state.colour, (i) => { state.colour = i; this.draw(); }), this.legend, this.reset,
        state.numeric.length ? menu('Size by', 'size', named(state.numeric, 'one size'), state.size, (i) => { state.size = i; this.draw(); }) : null),
      this.chosen,
      element('section', {}, hoverChoices(state), header.model ? modelPanel(header.model) : null, keyHelp(),
        element('p', { class: 'soft about', text: header.about })));
    this.tip = element('div', { class: 'tip', role: 'tooltip', hidden: true });
    root.replaceChildren(bar, this.holder, panel, this.tip, this.status);
    const on = {
      hover: (map, place) => this.hover(map, place), select: (places) => this.select(places), clear: () => this.clear(),
      moved: (map) => { this.tip.hidden = true; this.onMove?.(map); },
    };
    const several = this.source.maps.length > 1;
    this.maps = this.source.maps.map((map, number) => new MapView(this.holder, several ? map.name : '', number, on));
    this.holder.append(toolbar(this.actions));
    this.maps.forEach((map) => map.resize());
    this.showChosen();
  }

  async draw() {
    const { state, source } = this;
    const dark = this.theme.isDark();
    this.legend.replaceChildren(legend(state, dark, (change) => { change(); this.filtered(); }));
    this.visible = state.visible();
    const coloured = (this.coloured = state.colours(dark));
    const size = state.sizes();
    this.count();
    if (state.selected >= 0 && this.found) this.showChosen(); // its dots have the new colours
    await Promise.all(this.maps.map((map, i) => map.show({
      x: source.maps[i].x, y: source.maps[i].y, ...coloured, classes: true, size, filter: this.visible, group: state.group, dark,
    })));
    document.documentElement.dataset.ready = `${source.count}`;
  }

  async filtered() {
    this.visible = this.state.visible();
    this.legend.replaceChildren(legend(this.state, this.theme.isDark(), (change) => { change(); this.filtered(); }));
    this.count();
    await Promise.all(this.maps.map((map) => {
      map.data.filter = this.visible;
      return map.filter(this.visible);
    }));
    document.documentElement.dataset.shown = `${this.visible ? this.visible.length : this.source.count}`;
  }

  count() {
    const { source } = this;
    const all = counted(source.total, source.header.unit);
    const shown = this.visible ? this.visible.length : source.count;
    this.shown.textContent = shown < source.total ? `${shown.toLocaleString('en')} of ${all}` : all;
    this.reset.hidden = !this.visible;
  }

  hover(map, place) {
    this.maps.forEach((one) => one.mark({ hovered: place }));
    this.hovering = place;
    if (place < 0) { this.tip.hidden = true; return; }
    const rows = (indices, texts) => indices.map((index) => element('div', { class: 'row' },
      element('span', { class: 'soft' }, words(this.state.columns[index].name)), valueNode(this.state, index, place, texts)));
    const here = [...this.state.hover].filter((index) => this.state.columns[index].kind !== 'text' || this.state.columns[index].texts);
    const later = [...this.state.hover].filter((index) => !here.includes(index)); // on the server
    const id = this.source.id(place);
    const name = words(id ?? '…', 'id');
    if (id === null || later.length) this.source.details(place).then((found) => {
      if (this.hovering !== place) return;
      name.textContent = found.id;
      this.tip.append(...rows(later, found.texts));
    });
    const drawing = thumbnail(this.source, place, 140);
    this.tip.replaceChildren(element('strong', {}, name), ...rows(here), ...(drawing ? [drawing] : []));
    this.tip.hidden = false;
    const at = map.position(place);
    const box = map.box.getBoundingClientRect();
    const { width, height } = this.tip.getBoundingClientRect();
    const [x, y] = [box.left + at[0], box.top + at[1]];
    this.tip.style.left = `${Math.max(8, Math.min(x + 14, window.innerWidth - width - 8))}px`;
    this.tip.style.top = `${y + 14 + height > window.innerHeight ? Math.max(8, y - height - 14) : y + 14}px`;
  }

  lasso(on) {
    this.maps.forEach((map) => map.lasso(on));
    byId('lasso').setAttribute('aria-pressed', on ? 'true' : 'false');
    this.say(on ? 'Lasso: draw around points' : '');
  }

  say(text) { this.status.textContent = text; }

  // Points with this very id, then classes, then other points.
  async search(text) {
    const wanted = text.toLowerCase();
    const points = await this.source.search(text);
    const exact = points.filter((hit) => hit.id.toLowerCase() === wanted).length;
    const classes = this.state.classes(wanted).map((one) => ({
      ...one, id: `${one.column} = ${one.name}`, note: `(${counted(one.count, 'point')}${this.source.count < this.source.total ? ' here' : ''})`,
    }));
    return [...points.slice(0, exact), ...classes, ...points.slice(exact)];
  }

  async showClass({ index, code }) {
    this.clear();
    this.state.filters.clear();
    this.state.toggleLevel(index, code);
    this.state.colour = index;
    byId('colour').value = index;
    await this.draw();
    document.documentElement.dataset.shown = `${this.visible.length}`;
    this.say(`${counted(this.visible.length, 'point')} shown`);
    this.maps.forEach((map) => map.fit(true, this.visible));
  }

  async jump(hit) {
    const place = hit.place >= 0 ? hit.place : await this.arrived(hit.row);
    await this.select([place]);
    this.maps.forEach((map) => map.fit(true, [place, ...map.marks.neighbors.filter((one) => one >= 0)]));
  }

  async arrived(row) {
    const place = await this.source.fetchRow(row);
    await this.draw();
    return place;
  }

  // One point is a node with neighbours; several are a group.
  async select(places) {
    if (this.maps[0].lassoing) this.lasso(false);
    if (!places.length) return this.clear();
    if (places.length > 1) {
      places = Uint32Array.from(places).sort(); // in the order of the table
      this.state.group = places;
      this.state.selected = -1;
      this.maps.forEach((map) => { map.highlight(places); map.mark({ selected: -1, neighbors: [], edges: [] }); });
      this.say(`${counted(places.length, 'point')} selected`);
      return this.showChosen();
    }
    const [place] = places;
    if (this.state.selected >= 0 && this.state.selected !== place) this.history.push(this.state.selected);
    await this.open(place);
  }

  async open(place) {
    const { source, state } = this;
    state.group = null;
    state.selected = place;
    this.visited.add(place);
    const [details, edges, ...lists] = await Promise.all([source.details(place), source.edges(place), ...source.maps.map((_, i) => source.neighbors(place, i))]);
    if (state.selected !== place) return; // another one was chosen while the server answered
    this.found = { details, edges, lists, maps: source.maps };
    this.maps.forEach((map, i) => {
      map.highlight(null);
      map.mark({ selected: place, neighbors: lists[i].map((one) => one.place), edges: edges ?? [] });
    });
    this.say(`Selected ${details.id}`);
    this.showChosen();
  }

  async step(one) {
    const place = one.place >= 0 ? one.place : await this.arrived(one.row);
    await this.select([place]);
    this.follow(place);
  }

  // Bring a point into view if it is outside.
  follow(place) {
    for (const map of this.maps) {
      const at = map.position(place);
      if (!at || at[0] < 20 || at[1] < 20 || at[0] > map.width - 20 || at[1] > map.height - 20) map.fit(true, [place, ...map.marks.neighbors.filter((p) => p >= 0)]);
    }
  }

  next() {
    const list = this.state.selected >= 0 ? this.found.lists[0] : [];
    const one = list.find((other) => other.place < 0 || !this.visited.has(other.place)) ?? list[0];
    if (one) this.step(one);
  }

  async back() {
    if (!this.history.length) return;
    const place = this.history.pop();
    await this.open(place);
    this.follow(place);
  }

  clear() {
    Object.assign(this.state, { selected: -1, group: null });
    this.history = [];
    this.visited.clear();
    this.lasso(false);
    this.maps.forEach((map) => { map.highlight(null); map.mark({ selected: -1, neighbors: [], edges: [] }); });
    this.showChosen();
  }

  showChosen() {
    const { state } = this;
    const below = window.matchMedia('(max-width: 48rem)').matches && (state.group || state.selected >= 0);
    if (below) requestAnimationFrame(() => this.chosen.scrollIntoView({ block: 'start' }));
    const clear = () => this.clear();
    if (state.group) {
      const zoom = () => this.maps.forEach((map) => map.fit(true, state.group));
      this.chosen.replaceChildren(groupPanel(state, state.group, { clear, zoom }));
    } else if (state.selected >= 0) {
      const place = state.selected;
      const look = (other) => this.maps.forEach((map) => map.mark({ hovered: other }));
      const zoom = () => this.maps.forEach((map) => map.fit(true, [place, ...map.marks.neighbors.filter((p) => p >= 0)]));
      this.chosen.replaceChildren(nodePanel(state, place, this.found, { clear, zoom, look, step: (one) => this.step(one), back: () => this.back(), canGoBack: this.history.length > 0, colour: (other) => this.coloured.colours[this.coloured.colour[other]] }));
    } else {
      this.chosen.replaceChildren(element('p', { class: 'hint', text: 'Click a point to see its neighbours. Hold Shift and drag, or use the lasso, to select a group.' }));
    }
  }
}
