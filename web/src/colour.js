// Colours of points: one per class, or a scale for numbers; for light and dark pages.

// Viridis at 16 places: ordered by lightness, and safe for colour-blind readers.
const VIRIDIS = ('440154 481a6c 472f7d 414487 39568c 31688e 2a788e 23888e 1f988b 22a884 35b779 54c568 7ad151 a5db36 ' +
  'd2e21b fde725').split(' ').map((hex) => [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16)));
const STEPS = 64;

const hex = (rgb) => `#${rgb.map((value) => Math.round(value).toString(16).padStart(2, '0')).join('')}`;

// Ends that would vanish on the background are left out.
export function scale(dark) {
  const [low, high] = dark ? [0.22, 1] : [0, 0.93];
  return Array.from({ length: STEPS }, (_, i) => {
    const place = (low + ((high - low) * i) / (STEPS - 1)) * (VIRIDIS.length - 1);
    const before = Math.min(Math.floor(place), VIRIDIS.length - 2);
    return hex(VIRIDIS[before].map((value, c) => value + (place - before) * (VIRIDIS[before + 1][c] - value)));
  });
}

// A colour per class, most frequent classes first where there are more classes than colours; [0] is for missing values.
export function classColours(column, counts, palette, dark) {
  const { few, many, other, missing } = palette[dark ? 'dark' : 'light'];
  const colours = new Array(column.levels.length + 1).fill(other);
  colours[0] = missing;
  const present = column.levels.map((_, i) => i).filter((i) => counts[i + 1] > 0);
  const known = present.length <= few.length ? few : many;
  const shown = present.length <= known.length ? present
    : present.slice().sort((a, b) => counts[b + 1] - counts[a + 1]).slice(0, known.length - 1);
  const chosen = new Set(shown);
  let next = 0;
  for (const level of present) if (chosen.has(level)) colours[level + 1] = known[next++];
  return colours;
}
