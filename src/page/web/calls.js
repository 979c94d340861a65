/*
 * Beside the table of functions: how long the calls of one function take, as a histogram with
 * logarithmic steps, and its calls: the slowest first, in order, by thread or by caller.
 */
import { state, change } from './state.js';
import { model, nameOf, moduleOf, threadText } from './model.js';
import { newTable } from './table.js';
import { askRange } from './panel.js';
import { howText, selectEntry } from './callinfo.js';
import { showCall } from './timeline.js';
import { element, formatNs, formatExact, formatCount, formatCalls } from './format.js';
import { isAbort } from './source.js';
import { argumentsText, resultText } from './values.js';
import { showIfGeneral } from './trouble.js';

const PAGE = 100;

const callsPart = {
  root: null, title: null, bars: null, axis: null, table: null, order: null, more: null, note: null,
  bucket: null, entries: [], number: null,
};

/* How a call ended, and whether it goes beyond the range: then it is there with its whole length. */
function endText(row) {
  const { range } = state;
  const beyond = range && (row.t_ns < range.since || row.end_ns > range.until);
  return howText(row) + (beyond ? ', beyond the range' : '');
}

const CALL_COLUMNS = [
  { key: 'duration', label: 'duration', value: (row) => row.duration_ns,
    text: (row) => formatNs(row.duration_ns), cellTitle: (row) => formatExact(row.duration_ns) },
  { key: 'self', label: 'self', value: (row) => row.self_ns, text: (row) => formatNs(row.self_ns),
    cellTitle: (row) => (row.self_ns === null ? null : formatExact(row.self_ns)) },
  { key: 'start', label: 'start', value: (row) => row.t_ns, text: (row) => formatNs(row.t_ns),
    cellTitle: (row) => formatExact(row.t_ns) },
  { key: 'thread', label: 'thread', left: true, value: (row) => threadText(row.stream),
    text: (row) => threadText(row.stream) },
  { key: 'caller', label: 'caller', left: true, wide: true,
    value: (row) => (row.caller === null ? '' : nameOf(row.caller)),
    text: (row) => (row.caller === null ? '—' : nameOf(row.caller)) },
  { key: 'how', label: 'ended', left: true, value: endText, text: endText },
];

/* If the recording has values. A number that is no text would lose digits: they are not sorted by. */
const VALUE_COLUMNS = [
  { key: 'args', label: 'arguments', left: true, wide: true, text: argumentsText },
  { key: 'ret', label: 'result', left: true, wide: true, text: resultText },
];

function columnsOfCalls() {
  const [duration, ...rest] = CALL_COLUMNS;
  return model.trace.values ? [duration, ...VALUE_COLUMNS, ...rest] : CALL_COLUMNS;
}

/** The element of this part. */
export function buildCalls() {
  const part = callsPart;
  part.title = element('strong', { class: 'grow' });
  part.bars = element('div', { class: 'histogram', role: 'group',
    'aria-label': 'calls by duration, logarithmic' });
  part.axis = element('div', { class: 'histogram-axis' });
  part.order = element('select', { 'aria-label': 'order of the calls', onchange: listCalls },
    element('option', { value: 'slowest' }, 'slowest first'),
    element('option', { value: 'time' }, 'in order'));
  part.more = element('button', { onclick: () => listMore() }, 'more');
  part.note = element('span', { class: 'note grow' });
  const frames = element('button', { title: 'its calls as a row of the timeline (f)', id: 'frames',
    onclick: () => change({ frames: state.frames === part.number ? null : part.number }) }, 'frames');
  part.table = newTable({ caption: 'Calls of the function', columns: columnsOfCalls(),
    keyOf: (row) => `${row.stream} ${row.t_ns} ${row.depth}`, open: openCall });
  part.table.root.id = 'calls-table';
  part.body = element('div', { class: 'column' }, part.bars, part.axis,
    element('div', { class: 'bar' }, part.order, part.note, part.more), part.table.root);
  part.empty = element('div', { class: 'empty' }, 'A row of the table opens the durations of its calls.');
  part.root = element('div', { class: 'column detail', id: 'calls' },
    element('div', { class: 'bar' }, part.title, frames), part.empty, part.body);
  part.body.hidden = true;
  frames.hidden = true;
  return part.root;
}

function openCall(row) {
  selectEntry(callsPart.number, row);
  showCall(state.call, false);
}

/** Shows the histogram and the calls of the state's function. */
export async function showCalls(signal) {
  const part = callsPart;
  const number = state.function;
  part.number = number;
  const known = number !== null;
  part.empty.hidden = known;
  part.body.hidden = !known;
  document.getElementById('frames').hidden = !known;
  part.title.textContent = known ? nameOf(number) : 'Calls';
  part.title.title = known ? `${nameOf(number)} (${moduleOf(number)})` : '';
  if (!known) return;
  part.bucket = null;
  const buckets = await askRange('/api/histogram', { function: number }, signal);
  drawHistogram(buckets);
  await askCalls(0, signal);
}

/* Buckets without calls between others are drawn, so that the axis is even. */
function withGaps(buckets) {
  const filled = [];
  for (const bucket of buckets) {
    const last = filled[filled.length - 1];
    if (last && last.to_ns < bucket.from_ns) {
      filled.push({ from_ns: last.to_ns, to_ns: bucket.from_ns, calls: 0,
        width: Math.max(1, Math.round(4 * Math.log2(bucket.from_ns / Math.max(1, last.to_ns)))) });
    }
    filled.push(bucket);
  }
  return filled;
}

function barOf(bucket, most) {
  const text = `${formatNs(bucket.from_ns)} to ${formatNs(bucket.to_ns)}: ` +
    `${formatCalls(bucket.calls)}`;
  const bar = element('span');
  bar.style.height = bucket.calls ? `${Math.max(3, 100 * Math.log1p(bucket.calls) / Math.log1p(most))}%` : '0';
  const button = element('button', { title: text, 'aria-label': text, 'aria-pressed': 'false' }, bar);
  if (bucket.width) button.style.flexGrow = String(bucket.width);
  if (bucket.calls === 0) {
    button.disabled = true;
    button.className = 'none';
  }
  button.addEventListener('click', () => {
    const same = callsPart.bucket === bucket;
    callsPart.bucket = same ? null : bucket;
    for (const other of callsPart.bars.children) other.setAttribute('aria-pressed', 'false');
    button.setAttribute('aria-pressed', String(!same));
    listCalls();
  });
  return button;
}

function drawHistogram(buckets) {
  const part = callsPart;
  const most = buckets.reduce((best, bucket) => Math.max(best, bucket.calls), 1);
  part.bars.replaceChildren(...withGaps(buckets).map((bucket) => barOf(bucket, most)));
  const first = buckets[0];
  const last = buckets[buckets.length - 1];
  const calls = buckets.reduce((sum, bucket) => sum + bucket.calls, 0);
  part.axis.replaceChildren(
    element('span', {}, first ? formatNs(first.from_ns) : ''),
    element('span', {}, `${formatCalls(calls)}; heights are logarithmic`),
    element('span', {}, last ? formatNs(last.to_ns) : ''));
}

async function askCalls(after, signal) {
  const part = callsPart;
  const query = { function: part.number, order: part.order.value, limit: PAGE, after: after || undefined,
    values: model.trace.values ? 1 : undefined,
    from_ns: part.bucket?.from_ns, to_ns: part.bucket?.to_ns };
  const answer = await askRange('/api/calls', query, signal);
  part.entries = after ? [...part.entries, ...answer.calls] : answer.calls;
  if (model.source.embedded && part.bucket) {
    part.entries = part.entries.filter((entry) => entry.duration_ns >= part.bucket.from_ns &&
      entry.duration_ns < part.bucket.to_ns);
  }
  part.table.setRows(part.entries);
  part.more.hidden = !answer.more || model.source.embedded !== null;
  const which = part.order.value === 'slowest' ? 'slowest' : 'first';
  const of = part.bucket ? ` of ${formatNs(part.bucket.from_ns)} to ${formatNs(part.bucket.to_ns)}` : '';
  part.note.textContent = answer.more
    ? `the ${formatCount(part.entries.length)} ${which} calls${of}; more are not listed`
    : `all ${formatCalls(part.entries.length)}${of}`;
}

let listing = null;

async function listMore() {
  await listFrom(callsPart.entries.length);
}

async function listCalls() {
  await listFrom(0);
}

async function listFrom(after) {
  listing?.abort();
  listing = new AbortController();
  try {
    await askCalls(after, listing.signal);
  } catch (error) {
    if (isAbort(error)) return;
    callsPart.note.textContent = error.message;
    showIfGeneral(error);
  }
}
