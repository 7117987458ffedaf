// Bundle the page's script, collect the licences of what is bundled, and record what both were built from.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const HEAD = '// Built from web/ by `make explorer`; do not edit. Licences of the libraries inside: licences.txt\n';
const OUT = new URL('../src/mvgrl/explorer/assets/', import.meta.url);
const here = (name) => new URL(name, import.meta.url);

// regl makes functions from text, which a content-security policy refuses; web/src/interpret.js does it without.
const [EVAL, INSTEAD] = ['Function.apply(null, linkedNames.concat(src))', 'interpret(linkedNames, src)'];
const withoutEval = {
  name: 'without-eval',
  setup: ({ onLoad }) => onLoad({ filter: /regl\.unchecked\.js$/ }, ({ path }) => {
    const parts = readFileSync(path, 'utf8').split(EVAL);
    if (parts.length !== 2) throw new Error(`${path} has another way to make functions; change build.mjs`);
    const from = JSON.stringify(here('src/interpret.js').pathname);
    return { contents: `const { interpret } = require(${from});\n${parts.join(INSTEAD)}` };
  }),
};

const result = await build({
  entryPoints: [here('src/main.js').pathname],
  bundle: true,
  plugins: [withoutEval],
  alias: { regl: 'regl/dist/regl.unchecked.js' }, // without checks of what its callers do, at every step
  minify: true,
  charset: 'ascii', // the script is read back by tools of every encoding
  format: 'iife',
  target: ['chrome100', 'firefox113', 'safari16.4'],
  legalComments: 'none',
  metafile: true,
  write: false,
});
// Inside a page, "</script" would end the script and "<!--" would start a comment.
const script = HEAD + result.outputFiles[0].text.replace(/<(\/script|!--)/gi, '\\x3c$1');
writeFileSync(new URL('explorer.js', OUT), script);

const packages = new Set();
for (const input of Object.keys(result.metafile.inputs)) {
  const found = input.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//g);
  if (found) packages.add(found.at(-1).replace('node_modules/', '').replace(/\/$/, ''));
}
// Packages whose code is part of the distributed file of another one.
for (const name of ['camera-2d-simple', 'dom-2d-camera', 'earcut', 'gl-matrix', 'regl-line', '@flekschas/utils'])
  packages.add(name);
const licences = [...packages].sort().map((name) => {
  const about = JSON.parse(readFileSync(here(`node_modules/${name}/package.json`)));
  const file = ['LICENSE', 'LICENSE.md', 'LICENSE.txt'].find((one) => existsSync(here(`node_modules/${name}/${one}`)));
  return `${name} ${about.version} (${about.license})\n\n${readFileSync(here(`node_modules/${name}/${file}`), 'utf8')}`;
});
writeFileSync(new URL('licences.txt', OUT), licences.join(`\n${'-'.repeat(80)}\n\n`));

const sources = ['build.mjs', 'package-lock.json', ...readdirSync(here('src')).map((name) => `src/${name}`)].sort();
const digest = (data) => createHash('sha256').update(data).digest('hex');
const hashes = (names, base) => Object.fromEntries(names.map((name) => [name, digest(readFileSync(new URL(name, base)))]));
const built = { sources: hashes(sources, import.meta.url), built: hashes(['explorer.js', 'licences.txt'], OUT) };
writeFileSync(new URL('built.json', OUT), `${JSON.stringify(built, null, 2)}\n`);
console.log(`explorer.js: ${script.length.toLocaleString('en')} bytes, ${packages.size} packages`);
