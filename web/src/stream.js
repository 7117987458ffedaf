// Tiles from the server: those in view first, nearest to its centre first, up to as many points as are drawn smoothly.

const MOST = 2_000_000;
const PAUSE = 150; // milliseconds without movement before tiles are fetched
const AT_ONCE = 6; // tiles between two drawings

export function stream(explorer) {
  const { source } = explorer;
  let [timer, busy, again] = [0, false, false];

  const wanted = () => {
    const [left, right, low, high] = explorer.maps[0].window;
    const distance = ({ box }) => Math.hypot((box[0] + box[1] - left - right) / 2, (box[2] + box[3] - low - high) / 2);
    const inside = ({ box }) => box[0] <= right && box[1] >= left && box[2] <= high && box[3] >= low;
    return source.tiles.filter((tile) => !tile.loaded && inside(tile)).sort((a, b) => distance(a) - distance(b));
  };
  const fetchSome = async () => {
    if (busy) { again = true; return; }
    busy = true;
    const tiles = source.count < MOST ? wanted().slice(0, AT_ONCE) : [];
    for (const tile of tiles) await source.load(tile);
    if (tiles.length) await explorer.draw();
    busy = false;
    if (tiles.length || again) {
      again = false;
      timer = setTimeout(fetchSome, 0);
    }
  };
  explorer.onMove = () => {
    clearTimeout(timer);
    timer = setTimeout(fetchSome, PAUSE);
  };
  fetchSome();
}
