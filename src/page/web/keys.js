/*
 * All of the page by keyboard. The table below is also what the help shows.
 */
import { state, change } from './state.js';
import { model, nameOf } from './model.js';
import { timeline, zoomAround, panBy, showView, showCall, toggleIn, spansFor } from './timeline.js';
import { SPAN, spanNear, neighbourSpan } from './spans.js';
import { stepMatch, focusSearch } from './search.js';
import { tell, describeThing } from './callinfo.js';
import { showIfGeneral } from './trouble.js';
import { themeInForce } from './colours.js';
import { element, formatNs } from './format.js';

const middle = () => (state.view.since + state.view.until) / 2;
const ROW_HEIGHTS = [3, 5, 8, 12, 16, 20, 26];

/* Each entry: keys (as KeyboardEvent.key), what it does, the action. Groups are headings. */
const KEYS = [
  { group: 'Timeline' },
  { keys: ['w'], does: 'zoom in', act: () => zoomAround(middle(), 0.6) },
  { keys: ['s'], does: 'zoom out', act: () => zoomAround(middle(), 1 / 0.6) },
  { keys: ['a'], does: 'earlier', act: () => panBy(-0.25) },
  { keys: ['d'], does: 'later', act: () => panBy(0.25) },
  { keys: ['0', 'Home'], does: 'the whole trace', act: () => showView(0, model.trace.duration_ns) },
  { keys: ['PageDown'], does: 'threads below', act: () => scrollBy(0.8) },
  { keys: ['PageUp'], does: 'threads above', act: () => scrollBy(-0.8) },
  { keys: ['+', '='], does: 'higher rows', act: () => stepRowHeight(1) },
  { keys: ['-'], does: 'lower rows', act: () => stepRowHeight(-1) },
  { group: 'Calls' },
  { keys: ['ArrowRight'], does: 'next call of the same depth', act: () => moveSideways(1) },
  { keys: ['ArrowLeft'], does: 'previous call of the same depth', act: () => moveSideways(-1) },
  { keys: ['ArrowUp'], does: 'the caller', act: () => moveDepth(-1) },
  { keys: ['ArrowDown'], does: 'the first call in it', act: () => moveDepth(1) },
  { keys: ['Enter', 'z'], does: 'zoom to the selected call, else to the range', act: zoomToChosen },
  { keys: ['f'], does: 'calls of the function as a row of their own', act: toggleFrames },
  { keys: ['p'], does: 'pin the thread of the selected call',
    act: () => withCall((call) => toggleIn('pinned', call.stream)) },
  { keys: ['c'], does: 'fold that thread', act: () => withCall((call) => toggleIn('collapsed', call.stream)) },
  { keys: ['x'], does: 'next mark: pause, lost events, signal, …', act: () => stepMark(1) },
  { keys: ['X'], does: 'previous mark', act: () => stepMark(-1) },
  { group: 'Range' },
  { keys: ['i'], does: 'the range begins with the selected call, else where the view begins',
    act: () => setEdge('since') },
  { keys: ['o'], does: 'the range ends with the selected call, else where the view ends',
    act: () => setEdge('until') },
  { keys: ['m'], does: 'the range is the selected call',
    act: () => withCall((call) => setRange(call.start, call.end)) },
  { keys: ['v'], does: 'the range is what the view shows', act: () => setRange(state.view.since, state.view.until) },
  { keys: ['Escape'], does: 'no range, then no selected call', act: forgetChosen },
  { group: 'Search' },
  { keys: ['/'], does: 'search functions, and with = before the text values', act: focusSearch },
  { keys: ['n', 'F3'], does: 'next call of a match (or of the function)', act: () => stepMatch(1) },
  { keys: ['N'], does: 'previous call', act: () => stepMatch(-1) },
  { group: 'Page' },
  { keys: ['1', '2', '3', '4', '5', '6', '7'], does: 'the tabs below', act: (key) => chooseTab(Number(key)) },
  { keys: ['g'], does: 'into the timeline', act: () => timeline.parts.scroll.focus() },
  { keys: ['t'], does: 'light or dark', act: switchTheme },
  { keys: ['?'], does: 'this help', act: showHelp },
];

const ELSEWHERE = [
  ['Tab', 'goes through all parts; in tables and pictures the arrow keys move, Enter opens'],
  ['← → in Top-down, Bottom-up', 'fold and unfold a path'],
  ['Backspace in pictures', 'zooms out'],
  ['↑ ↓ on the bar between', 'changes the panel’s height'],
  ['mouse wheel', 'zooms at the pointer; with Shift it moves; over the names, or with Alt, it scrolls'],
  ['drag', 'measures, and sets the range; with Shift or the middle button it moves the view'],
  ['click, double click', 'selects a call, zooms to it'],
];

function scrollBy(share) {
  timeline.parts.scroll.scrollTop += share * timeline.height;
}

function stepRowHeight(step) {
  const at = ROW_HEIGHTS.findIndex((height) => height >= state.rowHeight);
  const next = ROW_HEIGHTS[Math.max(0, Math.min(ROW_HEIGHTS.length - 1, at + step))];
  change({ rowHeight: next });
}

function withCall(act) {
  if (state.call) act(state.call);
  else tell('Select a call first: click on it, or press an arrow key.');
}

function select(span) {
  if (!span) {
    tell('No more calls there.');
    return;
  }
  const { stream, start, end, depth } = span;
  change({ call: { stream, start, end, depth, function: span.function }, function: span.function });
  showCall(state.call, false);
  if (span.flags & SPAN.DENSE) tell(`${span.calls} calls, mostly ${nameOf(span.function)}: zoom in (w) to see them`);
}

/* The first call in view, in the uppermost thread that has one. */
function firstInView() {
  const { since, until } = state.view;
  for (const lane of timeline.lanes) {
    const spans = lane.kind === 'thread' ? spansFor(lane.stream, since) : null;
    const span = spans && spanNear(spans, lane.stream, 0, (since + until) / 2, (until - since) / 2);
    if (span) return span;
  }
  return null;
}

function moveSideways(direction) {
  const { call } = state;
  if (!call) {
    select(firstInView());
    return;
  }
  const spans = spansFor(call.stream, call.start);
  select(spans && neighbourSpan(spans, call, direction));
}

function moveDepth(step) {
  const { call } = state;
  if (!call) {
    select(firstInView());
    return;
  }
  const depth = call.depth + step;
  const spans = depth >= 0 ? spansFor(call.stream, call.start) : null;
  if (!spans) return;
  const time = step < 0 ? call.start : (call.start + call.end) / 2;
  const span = spanNear(spans, call.stream, depth, time, step < 0 ? 0 : (call.end - call.start) / 2);
  if (span) select(span);
  else tell(step < 0 ? 'It has no caller here.' : 'It calls nothing that is traced.');
}

const marks = { at: null, most: 200 };

/* The next or previous mark of the trace, seen from the last one, or from the view's middle. */
async function stepMark(direction) {
  const from = marks.at ?? middle();
  const range = direction > 0 ? { since: Math.floor(from) + 1 }
    : { until: Math.max(0, Math.ceil(from) - 1), last: 1 };
  try {
    const answer = await model.source.fetchJson('/api/marks', { ...range, limit: marks.most, values: 1 });
    const beyond = answer.filter((mark) => direction * (mark.t_ns - from) > 0)
      .sort((a, b) => direction * (a.t_ns - b.t_ns));
    if (beyond.length === 0) tell('No more marks there.');
    else showMark(beyond[0]);
  } catch (error) {
    tell(error.message);
    showIfGeneral(error);
  }
}

function showMark(mark) {
  marks.at = mark.t_ns;
  const { since, until } = state.view;
  const end = mark.t_ns + (mark.length_ns ?? 0);
  if (mark.t_ns < since || end > until) {
    const width = Math.max(until - since, 1.5 * (end - mark.t_ns));
    const centre = (mark.t_ns + end) / 2;
    showView(centre - width / 2, centre + width / 2);
  }
  tell(describeThing({ span: null, mark }).join(', '));
}

function zoomToChosen() {
  if (state.call) showCall(state.call, true);
  else if (state.range) showView(state.range.since, state.range.until);
}

function toggleFrames() {
  if (state.function === null) tell('Select a function first.');
  else change({ frames: state.frames === state.function ? null : state.function });
}

function setRange(since, until) {
  const from = Math.max(0, Math.floor(since));
  const to = Math.min(model.trace.duration_ns, Math.ceil(until));
  change({ range: { since: from, until: Math.max(from + 1, to) } });
  tell(`range of ${formatNs(to - from)}`);
}

function setEdge(edge) {
  const { call, view } = state;
  const other = state.range ?? { since: 0, until: model.trace.duration_ns };
  const time = edge === 'since' ? call?.start ?? view.since : call?.end ?? view.until;
  const range = { ...other, [edge]: time };
  if (range.until > range.since) setRange(range.since, range.until);
  else setRange(time, edge === 'since' ? model.trace.duration_ns : time + 1);
}

function forgetChosen() {
  if (state.range) change({ range: null });
  else if (state.call) change({ call: null });
}

function chooseTab(number) {
  const tab = document.querySelectorAll('#tabs [role=tab]')[number - 1];
  if (!tab) return;
  tab.click();
  tab.focus();
}

/** The other theme. */
export function switchTheme() {
  change({ theme: themeInForce() === 'dark' ? 'light' : 'dark' });
}

function keyRow(names, does) {
  const keys = names.flatMap((name) => [element('kbd', {}, name), ' ']);
  return element('tr', {}, element('td', {}, ...keys), element('td', {}, does));
}

/** Shows all keys. */
export function showHelp() {
  const help = document.getElementById('help');
  const sections = [];
  for (const entry of KEYS) {
    if (entry.group) {
      sections.push(element('section', {}, element('h2', {}, entry.group), element('table', {})));
    } else {
      const names = entry.keys.length > 3 ? [`${entry.keys[0]} … ${entry.keys[entry.keys.length - 1]}`] : entry.keys;
      sections[sections.length - 1].lastChild.append(keyRow(names, entry.does));
    }
  }
  const other = element('table', {}, ...ELSEWHERE.map(([keys, does]) => keyRow([keys], does)));
  sections.push(element('section', {}, element('h2', {}, 'Elsewhere'), other));
  help.replaceChildren(element('div', { class: 'columns' }, ...sections),
    element('button', { onclick: () => help.close(), autofocus: '' }, 'close (Esc)'));
  help.showModal();
}

function isTyping(target) {
  return target.matches('input, select, textarea, [contenteditable]');
}

/* Keys that a focused button or the browser needs itself. */
function isTaken(event) {
  const onButton = event.target.matches('button, a, [role=option]');
  return onButton && (event.key === 'Enter' || event.key === ' ');
}

/** Listens to keys from now on. */
export function startKeys() {
  const actions = new Map(KEYS.filter((entry) => entry.keys)
    .flatMap((entry) => entry.keys.map((key) => [key, entry.act])));
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById('help').open) return;
    if (event.key === 'Escape' && isTyping(event.target)) {
      event.target.blur();
      return;
    }
    if (isTyping(event.target) || isTaken(event)) return;
    const caps = event.key.length === 1 && !actions.has(event.key) ? event.key.toLowerCase() : event.key;
    const act = actions.get(caps);
    if (!act || !model.trace) return;
    event.preventDefault();
    act(event.key);
  });
}
