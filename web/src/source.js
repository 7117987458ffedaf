// Where points come from: all of them inside the page, or from the server, a tile at a time.
// Both answer the same questions. Points have places 0, 1, … on the map; `rows` are their rows in the table.

import { Texts, unpack } from './container.js';

const MOST_HITS = 50;

function columnsOf(header, arrays) {
  return header.columns.map((column) => {
    const made = { ...column };
    if (column.codes != null) made.codes = arrays[column.codes];
    if (column.values != null) made.values = arrays[column.values];
    if (column.text != null) made.texts = new Texts(arrays[column.text[0]], arrays[column.text[1]]);
    return made;
  });
}

function scaled(array, range) {
  if (!(array instanceof Uint16Array)) return array;
  const [low, high] = range;
  return Float32Array.from(array, (value) => low + ((high - low) * value) / 65535);
}

// Both directions of edges that are stored once, from the smaller to the larger row.
function bothWays(count, offsets, targets) {
  const sums = new Uint32Array(count + 1);
  for (let row = 0; row < count; row++)
    for (let i = offsets[row]; i < offsets[row + 1]; i++) {
      sums[row + 1]++;
      sums[targets[i] + 1]++;
    }
  for (let row = 0; row < count; row++) sums[row + 1] += sums[row];
  const next = sums.slice();
  const ends = new Uint32Array(2 * targets.length);
  for (let row = 0; row < count; row++)
    for (let i = offsets[row]; i < offsets[row + 1]; i++) {
      ends[next[row]++] = targets[i];
      ends[next[targets[i]]++] = row;
    }
  return (row) => ends.subarray(sums[row], sums[row + 1]);
}

function graphsOf(about, arrays) {
  const [nodes, offsets, pairs] = [about.nodes, about.offsets, about.pairs].map((number) => arrays[number]);
  const labels = about.labels != null ? arrays[about.labels] : null;
  return (place) => {
    const edges = [];
    for (let i = offsets[place]; i < offsets[place + 1]; i++) edges.push([pairs[2 * i], pairs[2 * i + 1]]);
    return { nodes: nodes[place + 1] - nodes[place], edges, labels: labels?.subarray(nodes[place], nodes[place + 1]) };
  };
}

export class PageSource {
  constructor({ header, arrays }) {
    this.header = header;
    this.count = this.total = header.count;
    this.maps = header.maps.map((map) => ({
      name: map.name,
      x: scaled(arrays[map.x], map.range),
      y: scaled(arrays[map.y], map.range),
      neighbors: map.neighbors && {
        k: map.neighbors.k,
        exact: map.neighbors.exact,
        rows: arrays[map.neighbors.rows],
        cosines: arrays[map.neighbors.cosines],
      },
    }));
    this.columns = columnsOf(header, arrays);
    this.ids = header.ids && new Texts(arrays[header.ids[0]], arrays[header.ids[1]]);
    this.edgesOf = header.edges && bothWays(this.count, arrays[header.edges[0]], arrays[header.edges[1]]);
    this.graph = header.graphs && graphsOf(header.graphs, arrays);
  }

  row(place) { return place; }

  place(row) { return row; }

  id(place) { return this.ids ? this.ids.at(place) : `${place}`; }

  async details(place) {
    const texts = this.columns.filter((column) => column.texts);
    return { id: this.id(place), texts: new Map(texts.map((column) => [column.name, column.texts.at(place)])) };
  }

  async neighbors(place, map = 0) {
    const found = this.maps[map].neighbors;
    if (!found) return [];
    const start = place * found.k;
    const listed = [];
    for (let i = start; i < start + found.k; i++) {
      if (found.rows[i] >= this.count) break; // fewer neighbours than k
      listed.push({ place: found.rows[i], id: this.id(found.rows[i]), cosine: found.cosines[i] / 32767.5 - 1 });
    }
    return listed;
  }

  async edges(place) { return this.edgesOf ? [...this.edgesOf(place)] : null; }

  async search(text) {
    const wanted = text.toLowerCase();
    const hits = new Map();
    const add = (place, where) => {
      if (!hits.has(place)) hits.set(place, { place, id: this.id(place), where });
      return hits.size < MOST_HITS;
    };
    if (this.ids) this.ids.search(wanted, (row) => add(row, ''));
    else for (let row = 0; row < this.count && (!`${row}`.includes(wanted) || add(row, '')); row++);
    for (const column of this.columns)
      if (column.texts && hits.size < MOST_HITS) column.texts.search(wanted, (row) => add(row, column.name));
    return [...hits.values()].sort((a, b) => rank(a, wanted) - rank(b, wanted) || a.place - b.place);
  }
}

const rank = (hit, wanted) => {
  const id = hit.id.toLowerCase();
  return id === wanted ? 0 : id.startsWith(wanted) ? 1 : hit.where === '' ? 2 : 3;
};

// The same from `mvgrl explore --serve`. Points arrive in tiles; texts, neighbours and edges when they are needed.
export class ServerSource {
  static async open(base) {
    const answer = async (path, options) => {
      const response = await fetch(base + path, options);
      if (!response.ok) throw new Error(`the server answered ${response.status}; start mvgrl explore --serve again`);
      return response;
    };
    return new ServerSource(answer, await unpack(await (await answer('head')).arrayBuffer()));
  }

  constructor(answer, { header, arrays }) {
    this.answer = answer;
    this.header = header;
    this.total = header.count;
    this.count = 0;
    this.tiles = header.tiles.map((box, number) => ({ number, box, loaded: false }));
    this.maps = header.maps.map((map) => ({ name: map.name, x: new Float32Array(0), y: new Float32Array(0), neighbors: true }));
    this.columns = columnsOf(header, arrays).map((column) => ({ ...column }));
    this.rows = new Uint32Array(0);
    this.places = new Map();
    this.graph = header.graphs && (async (place) => (await this.answer(`graph/${this.rows[place]}`)).json());
  }

  row(place) { return this.rows[place]; }

  place(row) { return this.places.get(row) ?? -1; }

  id(place) { return this.header.numbered ? `${this.rows[place]}` : null; }

  async load(tile) {
    tile.loaded = true;
    const { arrays } = await unpack(await (await this.answer(`tile/${tile.number}`)).arrayBuffer());
    const joined = (one, other) => {
      const all = new other.constructor(one.length + other.length);
      all.set(one);
      all.set(other, one.length);
      return all;
    };
    for (let i = 0; i < arrays[0].length; i++) this.places.set(arrays[0][i], this.count + i);
    this.count += arrays[0].length;
    this.rows = joined(this.rows, arrays[0]);
    let next = 1;
    for (const map of this.maps) {
      map.x = joined(map.x, arrays[next++]);
      map.y = joined(map.y, arrays[next++]);
    }
    for (const column of this.columns) {
      const values = column.kind === 'category' ? 'codes' : column.kind === 'number' ? 'values' : null;
      if (values) column[values] = joined(column[values] ?? arrays[next].subarray(0, 0), arrays[next++]);
    }
  }

  async details(place) {
    const found = await (await this.answer(`row/${this.rows[place]}`)).json();
    return { id: found.id, texts: new Map(Object.entries(found.texts)) };
  }

  async neighbors(place, map = 0) {
    const found = await (await this.answer(`neighbors/${map}/${this.rows[place]}`)).json();
    return found.map((one) => ({ place: this.place(one.row), row: one.row, id: one.id, cosine: one.cosine }));
  }

  async edges(place) {
    if (!this.header.edges) return null;
    const found = await (await this.answer(`edges/${this.rows[place]}`)).json();
    return found.map((row) => this.place(row));
  }

  async search(text) {
    const found = await (await this.answer(`search?text=${encodeURIComponent(text)}`)).json();
    return found.map((one) => ({ ...one, place: this.place(one.row) }));
  }

  async idsOf(group) {
    const body = Uint32Array.from(group, (place) => this.rows[place]);
    return (await this.answer('ids', { method: 'POST', body })).json();
  }

  // The tile of a row may not be here yet.
  async fetchRow(row) {
    const number = await (await this.answer(`tileof/${row}`)).json();
    if (!this.tiles[number].loaded) await this.load(this.tiles[number]);
    return this.place(row);
  }
}
