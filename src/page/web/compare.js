/*
 * The tab "Compare": two ranges of this trace, or an older trace and this one, by function or by
 * path, the largest difference first. A is the older side.
 */
import { state, change } from './state.js';
import { model, numberOfRow, plainRows } from './model.js';
import { cssColour } from './colours.js';
import { newTable } from './table.js';
import { wantedStreams } from './lanes.js';
import { element, formatNs, formatCount, plainText } from './format.js';

const compareTab = { functions: null, paths: null, note: null, sides: null, ways: [], other: null };

const comparesOther = () => Boolean(state.compareOther && model.trace.other);

function signedNs(ns) {
  return `${ns > 0 ? '+' : ns < 0 ? '−' : ''}${formatNs(Math.abs(ns))}`;
}

function ratioText(before, after) {
  if (before === null) return 'only in B';
  if (after === null) return 'only in A';
  if (before === 0) return after === 0 ? '' : 'new';
  const percent = 100 * (after - before) / before;
  return `${percent > 0 ? '+' : percent < 0 ? '−' : ''}${Math.abs(percent).toFixed(1)} %`;
}

function pairColumn(key, label, side, format) {
  return { key: `${key}${side}`, label: `${label} ${side ? 'B' : 'A'}`, value: (row) => row[key]?.[side] ?? null,
    text: (row) => (row[key]?.[side] === null || row[key]?.[side] === undefined ? '—' : format(row[key][side])) };
}

const timeOf = (row, key) => (row[key]?.[1] ?? 0) - (row[key]?.[0] ?? 0);

function differenceColumn(key, label) {
  return { key: `${key}d`, label, value: (row) => Math.abs(timeOf(row, key)),
    cell: (row) => {
      const difference = timeOf(row, key);
      const style = difference > 0 ? 'worse' : difference < 0 ? 'better' : '';
      return [element('span', { class: style }, signedNs(difference))];
    } };
}

function compareColumns(nameColumn, keys) {
  return [
    nameColumn,
    ...['calls', 'total_ns', 'self_ns', 'p50_ns', 'p99_ns'].filter((key) => keys.has(key)).flatMap((key) => {
      const label = key.replace('_ns', '');
      const format = key === 'calls' ? formatCount : formatNs;
      return [pairColumn(key, label, 0, format), pairColumn(key, label, 1, format),
        ...(key === 'total_ns' || key === 'self_ns' ? [differenceColumn(key, `${label} B−A`)] : [])];
    }),
    { key: 'change', label: 'change', value: (row) => Math.abs(timeOf(row, 'total_ns')),
      text: (row) => ratioText(row.total_ns[0], row.total_ns[1]) },
  ];
}

function swatchOf(row) {
  const swatch = element('span', { class: 'swatch' });
  swatch.style.background = cssColour(row.module ?? '', row.function ?? row.name);
  return swatch;
}

const FUNCTION_NAME = { key: 'function', label: 'function', left: true, wide: true,
  value: (row) => row.function, cell: (row) => [swatchOf(row), row.function], cellTitle: (row) =>
    `${row.function} (${row.module})` };
const PATH_NAME = { key: 'path', label: 'path', left: true, wide: true, value: (row) => row.path.join(' › '),
  cell: (row) => [swatchOf(row), row.path.slice(-4).reverse().join(' ‹ ')],
  cellTitle: (row) => row.path.join(' › ') };

function openCompared(row) {
  const number = row.number ?? numberOfRow(row);
  if (number !== null && number !== undefined) change({ function: number });
}

function timesWords(range) {
  return range ? `${formatNs(range.since)} to ${formatNs(range.until)}` : 'not set';
}

function setSide(key) {
  if (!state.range) {
    compareTab.note.textContent = 'Drag a range in the timeline first.';
    return;
  }
  change(key === 'a' ? { rangeA: state.range } : { rangeB: state.range });
}

const PAIRED = ['calls', 'total_ns', 'self_ns', 'p50_ns', 'p99_ns'];

/* Rows of both sides as pairs. Of functions that are called the same in one module, and have no
 * number, calls and times are summed; their percentiles are not known. */
function pairedRows(sides) {
  const found = new Map();
  sides.forEach((rows, side) => rows.forEach((row) => {
    const key = `${row.module}\0${row.function}\0${row.number ?? ''}`;
    if (!found.has(key)) {
      const pairs = Object.fromEntries(PAIRED.map((name) => [name, [null, null]]));
      found.set(key, { function: row.function, module: row.module, number: row.number, ...pairs });
    }
    const pair = found.get(key);
    const again = pair.calls[side] !== null;
    for (const name of PAIRED) {
      if (!again) pair[name][side] = row[name];
      else pair[name][side] = name.startsWith('p') ? null : pair[name][side] + row[name];
    }
  }));
  return [...found.values()];
}

/* Rows of /api/diff: what one side alone has is unknown on the other one, not 0. */
async function askDiff(query, signal) {
  const rows = plainRows(await model.source.fetchJson('/api/diff', query, signal));
  for (const row of rows.filter(({ only }) => only)) {
    for (const key of PAIRED) row[key][row.only === 'new' ? 0 : 1] = null;
  }
  return rows;
}

function askOther(paths, signal) {
  const query = { other: 1, since: state.range?.since, until: state.range?.until, streams: wantedStreams(), paths };
  return askDiff(query, signal);
}

async function showByFunction(signal) {
  const streams = wantedStreams();
  const ask = (range) => model.source.fetchJson('/api/functions', { ...range, streams, numbers: 1 }, signal);
  const rows = comparesOther() ? await askOther(undefined, signal)
    : plainRows(pairedRows(await Promise.all([ask(state.rangeA), ask(state.rangeB)])));
  compareTab.functions.setRows(rows);
  return rows.length;
}

function askRangesByPath(signal) {
  const { rangeA: a, rangeB: b } = state;
  const query = { since: a.since, until: a.until, since2: b.since, until2: b.until, streams: wantedStreams(), paths: 1 };
  return askDiff(query, signal);
}

async function showByPath(signal) {
  const answer = comparesOther() ? await askOther(1, signal) : await askRangesByPath(signal);
  const rows = answer.map((row) => {
    const path = row.path.map(plainText);
    return { ...row, path, name: row.function, key: path.join('\x01') };
  });
  compareTab.paths.setRows(rows);
  return rows.length;
}

function newCompareTable(caption, nameColumn, keys, keyOf) {
  return newTable({ caption, columns: compareColumns(nameColumn, new Set(keys)),
    sort: { key: 'total_nsd', descending: true }, open: openCompared, keyOf });
}

/** The tab "Compare". */
export const compareView = {
  id: 'compare', label: 'Compare', needs: ['rangeA', 'rangeB', 'compareBy', 'compareOther'],
  build() {
    const tab = compareTab;
    tab.note = element('span', { class: 'note grow', role: 'status' });
    tab.sides = [element('span', {}), element('span', {})];
    tab.functions = newCompareTable('Functions of both sides, the largest difference first', FUNCTION_NAME,
      ['calls', 'total_ns', 'self_ns', 'p50_ns', 'p99_ns'], (row) => `${row.module}\0${row.function}`);
    tab.paths = newCompareTable('Paths of both sides, the largest difference first', PATH_NAME,
      ['calls', 'total_ns', 'self_ns', 'p50_ns', 'p99_ns'], (row) => row.key);
    tab.functions.root.id = 'compare-table';
    tab.paths.root.id = 'compare-paths';
    const way = (by, label) => element('button', { 'data-by': by, onclick: () => change({ compareBy: by }) }, label);
    tab.ways = [way('', 'by function'), way('path', 'by path')];
    tab.other = model.trace.other ? otherButton() : null;
    const bar = element('div', { class: 'bar' },
      element('button', { id: 'set-a', onclick: () => setSide('a') }, 'A = range'), tab.sides[0],
      element('button', { id: 'set-b', onclick: () => setSide('b') }, 'B = range'), tab.sides[1],
      ...tab.ways, tab.note);
    if (tab.other) bar.prepend(tab.other);
    tab.empty = element('div', { class: 'empty' },
      'Compare two ranges: drag one in the timeline and press “A = range”, then another and “B = range”.');
    return [bar, tab.empty, tab.functions.root, tab.paths.root];
  },
  async show(signal) {
    const tab = compareTab;
    const other = comparesOther();
    const ready = other || (state.rangeA && state.rangeB);
    for (const button of tab.ways) button.setAttribute('aria-pressed', String(button.dataset.by === state.compareBy));
    tab.other?.setAttribute('aria-pressed', String(other));
    tab.sides[0].textContent = other ? model.trace.other : timesWords(state.rangeA);
    tab.sides[1].textContent = other ? 'this trace' : timesWords(state.rangeB);
    const byPath = state.compareBy === 'path';
    tab.empty.hidden = Boolean(ready);
    tab.functions.root.hidden = !ready || byPath;
    tab.paths.root.hidden = !ready || !byPath;
    tab.note.textContent = '';
    if (model.source.embedded) {
      tab.note.textContent = 'A recorded file holds one range: nothing can be compared in it.';
      tab.empty.hidden = true;
      return;
    }
    if (!ready) return;
    const count = byPath ? await showByPath(signal) : await showByFunction(signal);
    tab.note.textContent = `${formatCount(count)} ${byPath ? 'paths' : 'functions'}`;
  },
};

function otherButton() {
  return element('button', { id: 'other', onclick: () => change({ compareOther: state.compareOther ? 0 : 1 }) },
    `with ${model.trace.other}`);
}
