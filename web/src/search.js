// Search as you type, with the keyboard too: a list of hits below the field.

import { element, words } from './dom.js';

const noteOf = ({ where, note }) => (where || note ? element('span', { class: 'soft' }, words(note ?? `in ${where}`)) : null);

export function searchBox(search, choose) {
  const list = element('ul', { id: 'hits', role: 'listbox', 'aria-label': 'Found', hidden: true });
  const input = element('input', {
    id: 'search', type: 'search', role: 'combobox', placeholder: 'Search ids, classes, text', 'aria-label': 'Search ids, classes and text',
    'aria-controls': 'hits', 'aria-expanded': 'false', autocomplete: 'off', spellcheck: 'false',
  });
  let [hits, active, asked] = [[], -1, 0];

  const close = () => {
    list.hidden = true;
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
  };
  const pick = (hit) => {
    close();
    choose(hit);
  };
  const move = (to) => {
    if (!hits.length) return;
    active = (to + hits.length) % hits.length;
    [...list.children].forEach((item, i) => item.setAttribute('aria-selected', i === active ? 'true' : 'false'));
    input.setAttribute('aria-activedescendant', `hit-${active}`);
    list.children[active].scrollIntoView({ block: 'nearest' });
  };
  const show = (found) => {
    [hits, active] = [found, -1];
    list.replaceChildren(...(found.length
      ? found.map((hit, i) => element('li', {
          id: `hit-${i}`, role: 'option', 'aria-selected': 'false',
          on: { mousedown: (event) => event.preventDefault(), click: () => pick(hit) },
        }, words(hit.id), noteOf(hit)))
      : [element('li', { class: 'none', text: 'Nothing found' })]));
    list.hidden = false;
    input.setAttribute('aria-expanded', 'true');
  };
  input.addEventListener('input', async () => {
    const text = input.value.trim();
    const mine = ++asked;
    if (!text) return close();
    const found = await search(text);
    if (mine === asked) show(found);
  });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') move(active + 1);
    else if (event.key === 'ArrowUp') move(active - 1);
    else if (event.key === 'Enter' && hits.length && !list.hidden) pick(hits[Math.max(active, 0)]);
    else if (event.key === 'Escape') {
      if (list.hidden) input.value = '';
      close();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });
  input.addEventListener('blur', close);
  return element('div', { class: 'search', role: 'search' }, input, list);
}
