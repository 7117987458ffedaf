import { embedded } from './container.js';
import { byId, element } from './dom.js';
import { Explorer } from './explorer.js';
import { PageSource, ServerSource } from './source.js';
import { stream } from './stream.js';

async function start() {
  const began = performance.now();
  const root = byId('app');
  try {
    const data = byId('data');
    const source = data ? new PageSource(await embedded(data)) : await ServerSource.open('./');
    if (!data) await source.load(source.tiles[0]);
    const explorer = new Explorer(source, root);
    window.explorer = explorer; // for the console, and for tests
    if (!explorer.maps[0].supported) explorer.say('This browser lacks a part of WebGL; colours may be wrong');
    await explorer.draw();
    window.firstPicture = { fromScript: performance.now() - began, fromNavigation: performance.now() };
    if (!data) stream(explorer);
  } catch (error) {
    const lacking = typeof DecompressionStream === 'undefined' ? 'this browser is too old; use a current one' : error.message;
    root.replaceChildren(element('p', { class: 'failed', role: 'alert', text: `The page cannot be shown: ${lacking}` }));
    throw error;
  }
}

start();
