/*
 * The tab "Functions": the report's table of the range. A row opens the durations of its calls.
 */
import { change } from './state.js';
import { numberOfRow, placeOf, plainRows } from './model.js';
import { cssColour } from './colours.js';
import { newTable } from './table.js';
import { askRange, rangeVersion } from './panel.js';
import { buildCalls, showCalls } from './calls.js';
import { element, formatNs, formatExact, formatCount, formatShare, formatCalls } from './format.js';

const functionsTab = { table: null, filter: null, rows: [], count: null, total: 0 };

const REMARKS = [
  ['unwound', 'left by exceptions'], ['inferred', 'ends inferred'], ['before', 'began before'],
  ['cut', 'cut'], ['open', 'still open at the end'], ['clipped', 'clipped'],
  ['counted', 'only counted'], ['brief', 'brief'],
];

function remarksOf(row) {
  const parts = REMARKS.filter(([key]) => row[key] > 0)
    .map(([key, words]) => `${formatCount(row[key])} ${words}`);
  if (row.paused_ns > 0) parts.push(`paused ${formatNs(row.paused_ns)}`);
  return parts.join(', ');
}

function timeColumn(key, label, title) {
  return {
    key, label, title, value: (row) => row[key], text: (row) => formatNs(row[key]),
    cellTitle: (row) => (row[key] === null || row[key] === undefined ? null : formatExact(row[key])),
  };
}

function nameCell(row) {
  const swatch = element('span', { class: 'swatch' });
  swatch.style.background = cssColour(row.module, row.function);
  return [swatch, row.function];
}

const FUNCTION_COLUMNS = [
  { key: 'function', label: 'function', left: true, wide: true, value: (row) => row.function,
    cell: nameCell, cellTitle: (row) => [row.function, placeOf(numberOfRow(row))].join('\n').trim() },
  { key: 'calls', label: 'calls', value: (row) => row.calls, text: (row) => formatCount(row.calls) },
  timeColumn('total_ns', 'total', 'time in its calls, recursive ones once'),
  timeColumn('self_ns', 'self', 'without what it calls'),
  { key: 'share', label: 'self %', title: 'its own time, of that of all functions',
    value: (row) => row.self_ns, text: (row) => formatShare(row.self_ns, functionsTab.total) },
  timeColumn('avg_ns', 'average'), timeColumn('p50_ns', 'p50'), timeColumn('p99_ns', 'p99'),
  timeColumn('max_ns', 'max'), timeColumn('min_ns', 'min'),
  timeColumn('stdev_ns', 'deviation', 'standard deviation'),
  { key: 'module', label: 'module', left: true, value: (row) => row.module,
    text: (row) => row.module },
  { key: 'place', label: 'source', left: true, value: (row) => placeOf(numberOfRow(row), true),
    text: (row) => placeOf(numberOfRow(row), true), cellTitle: (row) => placeOf(numberOfRow(row)) },
  { key: 'remarks', label: 'remarks', left: true, value: (row) => remarksOf(row),
    text: (row) => remarksOf(row) },
];

const rowId = (row) => `${row.module}\0${row.function}\0${row.number ?? ''}`;

function openFunction(row) {
  const number = numberOfRow(row);
  if (number === null) {
    functionsTab.count.textContent = `${row.function}: several functions are called so`;
    return;
  }
  change({ function: number });
}

function filterRows() {
  const wanted = functionsTab.filter.value.trim().toLowerCase();
  const rows = wanted ? functionsTab.rows.filter((row) =>
    row.function.toLowerCase().includes(wanted) || row.module.toLowerCase().includes(wanted))
    : functionsTab.rows;
  functionsTab.table.setRows(rows);
  const calls = rows.reduce((sum, row) => sum + row.calls, 0);
  functionsTab.count.textContent = `${formatCount(rows.length)} of ` +
    `${formatCount(functionsTab.rows.length)} functions, ${formatCalls(calls)}`;
}

/** Draws the table again: more is known of its functions. */
export function redrawFunctions() {
  if (functionsTab.table) filterRows();
}

/** The tab "Functions". */
export const functionsView = {
  id: 'functions', label: 'Functions', needs: ['function'],
  build() {
    functionsTab.filter = element('input', { type: 'search', placeholder: 'filter (function or module)',
      size: '28', 'aria-label': 'filter the table', spellcheck: 'false', id: 'functions-filter',
      oninput: filterRows });
    functionsTab.count = element('span', { class: 'grow note', role: 'status', 'aria-live': 'polite' });
    functionsTab.table = newTable({
      caption: 'Functions with calls in the range, their calls and times', columns: FUNCTION_COLUMNS,
      sort: { key: 'total_ns', descending: true }, open: openFunction, keyOf: rowId,
    });
    functionsTab.table.root.id = 'functions-table';
    const left = element('div', { class: 'column' },
      element('div', { class: 'bar' }, functionsTab.filter, functionsTab.count), functionsTab.table.root);
    const both = element('div', { class: 'column split' }, left, buildCalls());
    return [both];
  },
  async show(signal) {
    const version = rangeVersion();
    if (functionsTab.asked !== version) {
      const rows = await askRange('/api/functions', { numbers: 1 }, signal);
      functionsTab.asked = version;
      functionsTab.rows = plainRows(rows);
      functionsTab.total = rows.reduce((sum, row) => sum + row.self_ns, 0);
      filterRows();
    }
    await showCalls(signal);
  },
};
