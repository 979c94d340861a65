/*
 * Calls and marks in words: for the tooltip from what is drawn, for the status line exactly.
 */
import { state, change, onChange } from './state.js';
import { model, nameOf, moduleOf, placeOf, threadText } from './model.js';
import { SPAN, timeOfChildren } from './spans.js';
import { spansFor, timeline } from './timeline.js';
import { loaded } from './loader.js';
import { MARK_WORDS } from './ruler.js';
import { formatNs, formatExact, formatCalls, formatCount, plainText } from './format.js';
import { isAbort } from './source.js';
import { entryOfCall, argumentsText, resultText, shortened } from './values.js';

const HOW = {
  returned: 'returned', tail: 'ended by a tail call', unwound: 'left by an exception or longjmp',
  cut: 'cut by lost events', open: 'still open at the end of the recording',
  inferred: 'its end is inferred',
};

/** How an entry of /api/calls ended, in words, and whether it was open before. */
export function howText({ how, before }) {
  const end = HOW[how] ?? how ?? '';
  if (!before) return end;
  return how === 'returned' ? 'began before the recording' : `began before the recording, ${end}`;
}

function endOfSpan(flags) {
  const words = [];
  if (flags & SPAN.BEFORE) words.push('began before the recording');
  if (flags & SPAN.CUT) words.push('cut by lost events');
  if (flags & SPAN.INFERRED) words.push('end inferred, or left by an exception or longjmp');
  if (flags & SPAN.OPEN) words.push('still open at the end of the recording');
  if (flags & SPAN.CLIPPED) words.push('the recording kept only a part of it');
  return words.join(', ') || 'returned';
}

function hasPause(span) {
  return loaded.marks.some((mark) => mark.stream === span.stream && (mark.length_ns ?? 0) > 0 &&
    mark.t_ns < span.end && mark.t_ns + mark.length_ns > span.start);
}

function markLine(mark) {
  const length = mark.length_ns ? `, ${formatNs(mark.length_ns)}` : '';
  return `${MARK_WORDS[mark.kind] ?? mark.kind} at ${formatNs(mark.t_ns)}${length}` +
    (mark.text ? `: ${mark.text}` : '') + (mark.args ? `(${shortened(plainText(mark.args))})` : '') +
    (mark.marks > 1 ? `, and ${formatCount(mark.marks - 1)} more like it` : '');
}

function threadOfMark(mark) {
  if (mark.stream !== null) return threadText(mark.stream);
  return mark.pid === undefined ? 'all threads' : `all threads of process ${mark.pid}`;
}

function selfLine(span) {
  const set = spansFor(span.stream, span.start);
  const inner = set ? timeOfChildren(set, span) : null;
  if (inner === null) return model.source.embedded ? '' : 'self: zoom in until its calls are single boxes';
  return `self ${formatNs(span.end - span.start - inner)}`;
}

/* What to do about calls that are drawn together. */
function denseAdvice() {
  const shortest = model.source.embedded?.threshold_ns ?? 0;
  return shortest > 0 ? `calls below ${formatNs(shortest)} are only together in this file` : 'zoom in to see them';
}

/** The lines of the tooltip about what is at a place (timeline.js: thingAt). */
export function describeThing({ span, mark }) {
  if (!span) return [markLine(mark), threadOfMark(mark)];
  const where = `${threadText(span.stream)}, starts at ${formatNs(span.start)}`;
  if (span.flags & SPAN.DENSE) {
    return [`${formatCalls(span.calls)}, drawn as one`,
      `most time here: ${nameOf(span.function)} (${moduleOf(span.function)})`,
      `within ${formatNs(span.end - span.start)}; ${denseAdvice()}`, where,
      mark ? markLine(mark) : ''];
  }
  const rough = span.flags & SPAN.ROUGH ? 'approximate: the exact picture is being made' : '';
  const length = formatNs(span.end - span.start);
  const place = placeOf(span.function, true);
  return [nameOf(span.function), `${moduleOf(span.function)}${place ? `  ${place}` : ''}`,
    hasPause(span) ? `${length} from start to end, pauses included` : length,
    span.isFrame ? '' : hasPause(span) ? '' : selfLine(span), where, endOfSpan(span.flags), rough,
    mark ? markLine(mark) : ''];
}

let tellingCall = null;

/* The exact answer about the selected call. */
async function tellCall() {
  const { call } = state;
  tellingCall?.abort();
  if (!call) return;
  const length = call.end - call.start;
  tell(`${nameOf(call.function)}  ${formatNs(length)}  ${threadText(call.stream)}`);
  if (model.source.embedded && !model.trace.values) return;
  tellingCall = new AbortController();
  try {
    const exact = await entryOfCall(call, tellingCall.signal);
    if (exact) tell(exactText(call.function, exact));
  } catch (error) {
    if (!isAbort(error) && error.kind !== 'unrecorded') tell(`${nameOf(call.function)}: ${error.message}`);
  }
}

/** All of what is known of a call, exactly. */
export function exactText(number, call) {
  const caller = call.caller === null || call.caller === undefined ? '' :
    `, called by ${nameOf(call.caller)}`;
  const args = argumentsText(call);
  const result = resultText(call);
  const values = `${args && `, arguments: ${args}`}${result && `, result: ${result}`}`;
  return `${nameOf(number)} (${moduleOf(number)})  ${formatNs(call.duration_ns)} = ` +
    `${formatExact(call.duration_ns)}, self ${formatNs(call.self_ns)}, starts at ` +
    `${formatExact(call.t_ns)}, ${threadText(call.stream)}, depth ${call.depth}${caller}, ` +
    howText(call) + values;
}

/** Shows TEXT in the line at the bottom, which screen readers speak. */
export function tell(text) {
  const status = document.getElementById('status');
  status.textContent = text;
  status.title = text;
}

/** A call as the state keeps it, of an entry of /api/calls. */
export function callOfEntry(number, entry) {
  return { stream: entry.stream, start: entry.t_ns, end: entry.t_ns + entry.duration_ns,
    depth: entry.depth, function: number };
}

/** Tells about the selected call whenever it changes. */
export function startCallInfo() {
  onChange(['call'], tellCall);
  if (state.call) tellCall();
}

/** Selects an entry of /api/calls and makes it the function of all tabs. */
export function selectEntry(number, entry) {
  timeline.hovered = null;
  change({ call: callOfEntry(number, entry), function: number });
}
