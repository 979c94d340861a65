/*
 * What single calls were given and have returned: asked for when the pointer rests on a box, and
 * searched. Values are texts, as replay shows them: a number of 64 bits stays what it is.
 */
import { state } from './state.js';
import { model } from './model.js';
import { SPAN } from './spans.js';
import { wantedStreams } from './lanes.js';
import { plainText, formatShare } from './format.js';
import { DataError, isAbort } from './source.js';

const HOVER_REST_MS = 90;
const MOST_KEPT = 500;
const MOST_LINE = 400;
const DEEPEST = 65535; // boxes know no more of their depth

const values = { kept: new Map(), timer: 0, asking: null };

const keyOfBox = (span) => [span.stream, span.start, span.depth, span.function].join(' ');

/** The entry of /api/calls for a box or a call of the state, with its values; or undefined. */
export async function entryOfCall(call, signal) {
  const query = { function: call.function, t: Math.floor(call.start), streams: call.stream,
    values: model.trace.values ? 1 : undefined };
  const { calls } = await model.source.fetchJson('/api/calls', query, signal);
  return calls.find((one) => one.stream === call.stream && one.t_ns === call.start &&
    (call.isFrame || Math.min(one.depth, DEEPEST) === call.depth));
}

/** "i=3, s=…", as it may be shown; '' if nothing was recorded. */
export function argumentsText(entry) {
  return plainText(entry.args ?? '');
}

/** The result; '' if none was recorded. */
export function resultText(entry) {
  return plainText(entry.ret ?? '');
}

/** TEXT, cut to what a line can hold. */
export const shortened = (text) => (text.length > MOST_LINE ? `${text.slice(0, MOST_LINE)}…` : text);

/** Lines for the tooltip of a box, as far as they are known. */
export function valueLines(span) {
  const entry = span && values.kept.get(keyOfBox(span));
  if (!entry) return [];
  const args = argumentsText(entry);
  const result = resultText(entry);
  return [args && `arguments: ${shortened(args)}`, result && `result: ${shortened(result)}`];
}

/** Asks for the values of the box and of the mark on which the pointer is (timeline.js: thingAt), and
 * calls SHOW when they are there. */
export function wantValues(thing, show) {
  clearTimeout(values.timer);
  values.asking?.abort();
  const { span, mark } = thing ?? {};
  const single = span && span.calls <= 1 && !(span.flags & (SPAN.DENSE | SPAN.ROUGH));
  const asks = [];
  if (single && !values.kept.has(keyOfBox(span))) asks.push((signal) => askBox(span, signal));
  if (mark?.kind === 'usdt' && mark.marks === 1 && mark.args === undefined && !model.source.embedded) {
    asks.push((signal) => askMark(mark, signal));
  }
  if (!model.trace.values || asks.length === 0) return;
  values.timer = setTimeout(() => askValues(asks, show), HOVER_REST_MS);
}

async function askBox(span, signal) {
  const entry = await entryOfCall(span, signal);
  if (!entry) return;
  if (values.kept.size >= MOST_KEPT) values.kept.delete(values.kept.keys().next().value);
  values.kept.set(keyOfBox(span), entry);
}

async function askMark(mark, signal) {
  const query = { since: mark.t_ns, until: mark.t_ns, streams: mark.stream, values: 1 };
  const found = (await model.source.fetchJson('/api/marks', query, signal))
    .find((one) => one.kind === mark.kind && one.text === mark.text && one.t_ns === mark.t_ns);
  mark.args = found?.args ?? null;
}

async function askValues(asks, show) {
  values.asking = new AbortController();
  const { signal } = values.asking;
  try {
    await Promise.all(asks.map((ask) => ask(signal)));
    show();
  } catch (error) {
    if (!isAbort(error) && !(error instanceof DataError)) throw error;
  }
}

/* ---- search ---- */

/** The text that is searched in values, "=text" in the search; null if names are searched. */
export function textOfValueSearch() {
  const text = state.search.trim();
  return model.trace?.values && text.startsWith('=') ? text.slice(1) : null;
}

/* A recorded file has the values of its listed calls. */
async function findRecorded(text, { since, until }, direction) {
  const wanted = text.toLowerCase();
  const streams = wantedStreams()?.split(',').map(Number);
  let best = null;
  for (const [number, { calls }] of Object.entries(await model.source.fetchAll('/api/calls'))) {
    for (const call of calls) {
      if (streams && !streams.includes(call.stream)) continue;
      for (const [found, at] of [[call.args, call.t_ns], [call.ret, call.end_ns]]) {
        const better = at >= since && at <= until && (!best || direction * (best.at_ns - at) > 0);
        if (better && found?.toLowerCase().includes(wanted)) {
          best = { at_ns: at, stream: call.stream, function: Number(number), call };
        }
      }
    }
  }
  return best;
}

/** The first value (DIRECTION 1), or the last one (-1), of SPAN of time that contains TEXT: {at_ns,
 * stream, function, call}; or null. TELL hears how far the search is. */
export async function findValue(text, span, direction, signal, tellFar) {
  if (model.source.embedded) return findRecorded(text, span, direction);
  const range = { ...span };
  let best = null;
  let skip = 0;
  while (skip !== null && range.since <= range.until) {
    const query = { text, direction, skip, ...range, streams: wantedStreams() };
    const answer = await model.source.fetchJson('/api/find', query, signal);
    if (answer.found) {
      best = answer.found;
      if (direction > 0) range.until = best.at_ns - 1;
      else range.since = best.at_ns + 1;
    }
    skip = answer.skip;
    if (skip !== null) tellFar(formatShare(skip, answer.blocks));
  }
  return best;
}
