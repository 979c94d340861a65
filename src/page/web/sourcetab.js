/*
 * The tab "Source": the text of the selected function, and what spoor explain says of its sites.
 */
import { state } from './state.js';
import { model, nameOf, moduleOf } from './model.js';
import { element } from './format.js';

const sourceTab = { title: null, note: null, code: null, sites: null };

/* Whether the file is that of this build, and how that is known. */
const BUILD_WORDS = {
  md5: { true: 'the file is that of this build: its MD5 is in the debugging information',
    false: 'the file was changed since this build (its MD5 is another one): lines may differ' },
  'build-id and time': { true: 'the file is that of this build, by its time: it is older than the program',
    false: 'the file is newer than this build: lines may differ' },
  time: { true: 'the file is older than the program, which has no build ID: lines may differ',
    false: 'the file is newer than the program: lines may differ' },
};

const buildWords = (answer) => BUILD_WORDS[answer.judged_by]?.[answer.same_build] ??
  'whether the file is that of this build is not known';

function fillCode(answer) {
  const first = answer.first ?? 1;
  const rows = (answer.lines ?? []).map((text, i) => {
    const row = element('div', {}, element('b', {}, String(first + i)), text);
    if (first + i === answer.line) row.className = 'here';
    return row;
  });
  sourceTab.code.replaceChildren(...rows);
  sourceTab.code.querySelector('.here')?.scrollIntoView({ block: 'center' });
}

const valueText = (key, value) =>
  (key === 'address' && Number.isInteger(value) ? `0x${value.toString(16)}` : String(value));

/* Any object of explain, as lines "key: value"; lists of objects get one line each. */
function linesOfSites(value, indent = '') {
  if (value === null || typeof value !== 'object') return [`${indent}${value}`];
  const lines = [];
  for (const [key, inner] of Object.entries(value)) {
    const label = Array.isArray(value) ? '-' : `${key}:`;
    if (inner === null || typeof inner !== 'object') lines.push(`${indent}${label} ${valueText(key, inner)}`);
    else if (Object.values(inner).every((one) => one === null || typeof one !== 'object')) {
      const words = Array.isArray(inner) ? inner.join(', ')
        : Object.entries(inner).map(([name, one]) => `${name} ${one}`).join(', ');
      lines.push(`${indent}${label} ${words}`);
    } else lines.push(`${indent}${label}`, ...linesOfSites(inner, `${indent}  `));
  }
  return lines;
}

function fillSites(sites) {
  const lines = sites ? linesOfSites(sites) : ['Nothing is known of its sites here.'];
  sourceTab.sites.replaceChildren(...lines.map((line) => element('div', {}, line)));
}

/** The tab "Source". */
export const sourceView = {
  id: 'source', label: 'Source', needs: ['function'],
  build() {
    sourceTab.title = element('strong', {});
    sourceTab.note = element('span', { class: 'note grow', role: 'status' });
    sourceTab.code = element('div', { class: 'code', tabindex: '0', 'aria-label': 'source text',
      role: 'region', id: 'source-text' });
    sourceTab.sites = element('div', { class: 'code', tabindex: '0', role: 'region',
      'aria-label': 'how its entry and exits are traced' });
    const right = element('div', { class: 'column detail' },
      element('div', { class: 'bar note' }, 'how it is traced (spoor explain)'), sourceTab.sites);
    return [element('div', { class: 'bar' }, sourceTab.title, sourceTab.note),
      element('div', { class: 'column split' },
        element('div', { class: 'column' }, sourceTab.code), right)];
  },
  async show(signal) {
    const number = state.function;
    sourceTab.title.textContent = number === null ? '' : `${nameOf(number)} (${moduleOf(number)})`;
    sourceTab.code.replaceChildren();
    sourceTab.sites.replaceChildren();
    if (number === null) {
      sourceTab.note.textContent = 'Select a function: in the timeline, the table, or a picture.';
      return;
    }
    if (model.source.embedded) {
      const known = model.functions.get(number);
      sourceTab.note.textContent = (known?.file ? `${known.file}:${known.line}; ` : '') +
        'a recorded file holds no source text';
      return;
    }
    const answer = await model.source.fetchJson('/api/source', { function: number }, signal);
    const place = answer.file ? `${answer.file}${answer.line ? `:${answer.line}` : ''}` :
      'no debugging information: its file is not known';
    const hasText = answer.lines?.length > 0;
    const build = hasText ? buildWords(answer) :
      answer.file ? 'its text is not on this machine' : '';
    sourceTab.note.textContent = [place, build].filter((part) => part).join('; ');
    fillCode(answer);
    fillSites(answer.sites);
  },
};
