/*
 * Boxes of the timeline as the server sends them, by thread and depth.
 *
 * A set of spans holds arrays of equal length, sorted by stream, depth and start, and `rows`: where
 * each (stream, depth) begins and ends in them. Boxes of one row do not overlap.
 */

export const SPAN = { DENSE: 1, BEFORE: 2, CUT: 4, INFERRED: 8, OPEN: 16, ROUGH: 32, CLIPPED: 64 };
const SPAN_MAGIC = 0x73705631;
const DENSITY_MAGIC = 0x73705644;

const COLUMNS = ['start', 'end', 'function', 'calls', 'stream', 'depth', 'flags'];

const rowKey = (stream, depth) => stream * 65536 + depth;

function columnsOf(buffer, count) {
  let offset = 24;
  const take = (Type) => {
    const column = new Type(buffer, offset, count);
    offset = (offset + count * Type.BYTES_PER_ELEMENT + 7) & ~7;
    return column;
  };
  return {
    start: take(Float64Array), end: take(Float64Array), function: take(Uint32Array),
    calls: take(Uint32Array), stream: take(Uint32Array), depth: take(Uint16Array),
    flags: take(Uint16Array),
  };
}

function sortedOrder(columns, count) {
  const { stream, depth, start } = columns;
  let sorted = true;
  for (let i = 1; i < count && sorted; i++) {
    const step = rowKey(stream[i], depth[i]) - rowKey(stream[i - 1], depth[i - 1]);
    sorted = step > 0 || (step === 0 && start[i] >= start[i - 1]);
  }
  if (sorted) return null;
  return Uint32Array.from({ length: count }, (_, i) => i).sort((a, b) =>
    rowKey(stream[a], depth[a]) - rowKey(stream[b], depth[b]) || start[a] - start[b]);
}

function reordered(columns, order) {
  const result = {};
  for (const [name, column] of Object.entries(columns)) {
    const copy = new column.constructor(order.length);
    for (let i = 0; i < order.length; i++) copy[i] = column[order[i]];
    result[name] = copy;
  }
  return result;
}

/** A set of spans of the bytes of /api/spans or /api/frames; throws if they are not such. */
export function spansOfBytes(buffer) {
  const [magic, count] = new Uint32Array(buffer, 0, 2);
  if (magic !== SPAN_MAGIC) throw new Error('The server sent no boxes.');
  const [since, until] = new Float64Array(buffer, 8, 2);
  return indexed(columnsOf(buffer, count), count, since, until);
}

/* A set of spans of COLUMNS in any order. */
function indexed(given, count, since, until) {
  const order = sortedOrder(given, count);
  const columns = order ? reordered(given, order) : given;
  const rows = new Map();
  const depths = new Map();
  let rough = false;
  for (let i = 0; i < count; i++) {
    const key = rowKey(columns.stream[i], columns.depth[i]);
    const row = rows.get(key);
    if (row) row.to = i + 1;
    else rows.set(key, { from: i, to: i + 1 });
    rough ||= (columns.flags[i] & SPAN.ROUGH) !== 0;
    const most = depths.get(columns.stream[i]) ?? 0;
    if (columns.depth[i] >= most) depths.set(columns.stream[i], columns.depth[i] + 1);
  }
  return { ...columns, count, since, until, rows, depths, rough };
}

/** {columns, of: stream index to its counts} of the bytes of /api/density. */
export function densityOfBytes(buffer) {
  const [magic, columns, streams] = new Uint32Array(buffer, 0, 4);
  if (magic !== DENSITY_MAGIC) throw new Error('The server sent no density.');
  const of = (stream) => (stream < streams
    ? new Uint32Array(buffer, 16 + 4 * columns * stream, columns) : null);
  return { columns, streams, of };
}

/** The row of a stream at a depth, or undefined. */
export function spanRow(spans, stream, depth) {
  return spans.rows.get(rowKey(stream, depth));
}

/** The first box of ROW that ends at TIME or later; row.to if none does. */
export function firstEndingFrom(spans, row, time) {
  let low = row.from;
  let high = row.to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (spans.end[middle] >= time) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Box I as an object. */
export function spanAt(spans, i) {
  return {
    stream: spans.stream[i], start: spans.start[i], end: spans.end[i], depth: spans.depth[i],
    function: spans.function[i], calls: spans.calls[i], flags: spans.flags[i],
  };
}

/** The box of a stream and depth at TIME, or the nearest within SLACK ns; null if there is none. */
export function spanNear(spans, stream, depth, time, slack) {
  const row = spanRow(spans, stream, depth);
  if (!row) return null;
  let best = null;
  let distance = slack;
  for (let i = firstEndingFrom(spans, row, time - slack); i < row.to; i++) {
    if (spans.start[i] > time + slack) break;
    const away = Math.max(0, spans.start[i] - time, time - spans.end[i]);
    if (away > distance || (best !== null && away === distance)) continue;
    best = i;
    distance = away;
    if (away === 0) break;
  }
  return best === null ? null : spanAt(spans, best);
}

/** The time in the calls that SPAN calls itself; null unless each of them is one exact box. */
export function timeOfChildren(spans, span) {
  if (span.start < spans.since || span.end > spans.until) return null;
  const row = spanRow(spans, span.stream, span.depth + 1);
  if (!row) return 0;
  let sum = 0;
  for (let i = firstEndingFrom(spans, row, span.start); i < row.to; i++) {
    if (spans.start[i] > span.end) break;
    if (spans.start[i] < span.start) continue;
    if (spans.flags[i] & (SPAN.DENSE | SPAN.ROUGH)) return null;
    sum += spans.end[i] - spans.start[i];
  }
  return sum;
}

/** The next box of a row after (direction 1) or before (-1) one that starts at START; or null. */
export function neighbourSpan(spans, span, direction) {
  const row = spanRow(spans, span.stream, span.depth);
  if (!row) return null;
  let i = firstEndingFrom(spans, row, span.start);
  while (i < row.to && spans.start[i] < span.start) i++;
  const found = i < row.to && spans.start[i] === span.start ? i + direction
    : direction > 0 ? i : i - 1;
  return found >= row.from && found < row.to ? spanAt(spans, found) : null;
}

/** The next (1) or previous (-1) single call of the function NUMBER that starts after or before TIME. */
export function nextOfFunction(spans, number, time, direction) {
  let best = -1;
  for (let i = 0; i < spans.count; i++) {
    if (spans.function[i] !== number || spans.flags[i] & SPAN.DENSE) continue;
    const away = direction * (spans.start[i] - time);
    if (away > 0 && (best < 0 || away < direction * (spans.start[best] - time))) best = i;
  }
  return best < 0 ? null : spanAt(spans, best);
}

/** The single calls of the function NUMBER as a set of their own, at depth 0 of their threads. */
export function spansOfFunction(spans, number) {
  const kept = [];
  for (let i = 0; i < spans.count; i++) {
    if (spans.function[i] === number && !(spans.flags[i] & SPAN.DENSE)) kept.push(i);
  }
  const columns = Object.fromEntries(COLUMNS.map((name) => [name, spans[name]]));
  const own = reordered(columns, kept);
  own.depth.fill(0);
  return indexed(own, kept.length, spans.since, spans.until);
}
