/*
 * The timeline: names of threads at the left, the trace in small, the axis and the lanes.
 * It knows places on the screen; what pointer and keys do with them is in pointer.js and keys.js.
 */
import { state, change, onChange } from './state.js';
import { model, nameOf } from './model.js';
import { lanesNow, heightOfLanes } from './lanes.js';
import { newPainter, paintScene } from './paint.js';
import { drawMap, drawAxis, drawMark, drawRange, drawOutline, MAP_HEIGHT, AXIS_HEIGHT } from './ruler.js';
import { loaded, wantView, wantMarks, wantFrames } from './loader.js';
import { spanNear } from './spans.js';
import { element } from './format.js';

const LEAST_VIEW_NS = 20;

export const timeline = {
  lanes: [], width: 1, height: 1, matches: null, hovered: null, measured: null, drawnMs: 0,
  parts: null, painter: null, scheduled: false, overIsDrawn: false,
};

const byId = (id) => document.getElementById(id);

/** Finds its elements and draws from now on whatever changes. */
export function startTimeline() {
  timeline.parts = {
    ruler: byId('ruler'), lanes: byId('lanes'), over: byId('over'), scroll: byId('scroll'),
    spacer: byId('spacer'), names: byId('names'), sticky: byId('sticky'),
  };
  timeline.painter = newPainter(timeline.parts.lanes);
  new ResizeObserver(resizeTimeline).observe(timeline.parts.scroll);
  timeline.parts.scroll.addEventListener('scroll', () => { wantAll(); redraw(); }, { passive: true });
  onChange(['view'], () => { wantAll(); redraw(); });
  onChange(['threads', 'pinned', 'collapsed', 'rowHeight', 'frames'], relayout);
  onChange(['range', 'call', 'hideBelow', 'search', 'theme'], redraw);
  resizeTimeline();
}

/** Lanes are made again: threads, their depths or their order are others. */
export function relayout() {
  timeline.lanes = lanesNow();
  const { scroll, spacer } = timeline.parts;
  const extra = Math.max(0, heightOfLanes(timeline.lanes) - scroll.clientHeight);
  spacer.style.height = `${extra}px`;
  wantAll();
  redraw();
}

function resizeTimeline() {
  const { scroll, ruler, lanes, over } = timeline.parts;
  const ratio = devicePixelRatio || 1;
  timeline.width = Math.max(1, scroll.clientWidth);
  timeline.height = Math.max(1, scroll.clientHeight);
  timeline.parts.sticky.style.height = `${timeline.height}px`;
  for (const canvas of [lanes, over]) {
    canvas.width = Math.round(timeline.width * ratio);
    canvas.height = Math.round(timeline.height * ratio);
    canvas.style.width = `${timeline.width}px`;
    canvas.style.height = `${timeline.height}px`;
  }
  ruler.width = Math.round(timeline.width * ratio);
  ruler.height = Math.round((MAP_HEIGHT + AXIS_HEIGHT) * ratio);
  ruler.style.width = `${timeline.width}px`;
  if (model.trace) relayout();
}

function visibleLanes() {
  const top = timeline.parts.scroll.scrollTop;
  return timeline.lanes.filter((lane) =>
    lane.top + lane.height > top && lane.top < top + timeline.height);
}

function wantAll() {
  if (!model.trace) return;
  const threads = visibleLanes().filter((lane) => lane.kind === 'thread');
  wantView(timeline.painter.canvas.width, threads.map((lane) => lane.stream).sort((a, b) => a - b));
  wantMarks(timeline.painter.canvas.width);
  if (state.frames !== null || loaded.frames) wantFrames(timeline.painter.canvas.width);
}

/** Draws with the next frame of the screen. */
export function redraw() {
  if (timeline.scheduled) return;
  timeline.scheduled = true;
  requestAnimationFrame(() => {
    timeline.scheduled = false;
    if (model.trace) drawTimeline();
  });
}

function drawTimeline() {
  const began = performance.now();
  const ratio = devicePixelRatio || 1;
  const lanes = visibleLanes();
  paintScene(timeline.painter, {
    view: state.view, ratio, lanes, scroll: timeline.parts.scroll.scrollTop,
    sets: [loaded.whole, loaded.part],
    frames: loaded.frames, framesStreams: loaded.frames ? [...loaded.frames.depths.keys()] : [],
    density: loaded.density, duration: model.trace.duration_ns, matches: timeline.matches,
    hideBelow: state.hideBelow, incomplete: !loaded.summaryComplete && !model.source.embedded,
  });
  drawMarks(lanes, ratio);
  const context = timeline.parts.ruler.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const box = { width: timeline.width, duration: model.trace.duration_ns, view: state.view,
    range: state.range, density: loaded.density };
  drawMap(context, box);
  drawAxis(context, box);
  drawNames(lanes);
  drawOver();
  timeline.drawnMs = performance.now() - began;
  timeline.parts.lanes.dataset.drawn = String(Number(timeline.parts.lanes.dataset.drawn ?? 0) + 1);
}

/** Where a time is, in pixels of the style sheet. */
export function xOfTime(time) {
  return (time - state.view.since) / (state.view.until - state.view.since) * timeline.width;
}

/** The time at a place. */
export function timeOfX(x) {
  return state.view.since + x / timeline.width * (state.view.until - state.view.since);
}

/* Marks without a thread are about all threads of a process, or about all. */
function markIsAt(mark, lane) {
  if (lane.kind !== 'thread') return false;
  if (mark.stream !== null) return mark.stream === lane.stream;
  return mark.pid === undefined || mark.pid === model.threads.get(lane.stream)?.pid;
}

function drawMarks(lanes, ratio) {
  const { context } = timeline.painter;
  context.save();
  context.scale(ratio, ratio);
  const scroll = timeline.parts.scroll.scrollTop;
  for (const lane of lanes) {
    if (lane.kind !== 'thread') continue;
    const place = { x: xOfTime, y: lane.top - scroll, height: lane.height - 5 };
    loaded.marks.filter((mark) => markIsAt(mark, lane))
      .forEach((mark) => drawMark(context, mark, place));
  }
  context.restore();
}

/* The place of a call's box on the screen, or null if its lane is not shown. */
function placeOfCall(call) {
  const lane = timeline.lanes.find((one) => one.kind === 'thread' && one.stream === call.stream);
  if (!lane || call.depth >= lane.rows) return null;
  const y = lane.top - timeline.parts.scroll.scrollTop + call.depth * lane.rowHeight;
  return { from: xOfTime(call.start), to: xOfTime(call.end), y, height: lane.rowHeight };
}

/** Draws what moves with the pointer: range, measure, outlines. */
export function drawOver() {
  const ratio = devicePixelRatio || 1;
  const range = timeline.measured ?? state.range;
  const isWanted = Boolean(range || timeline.hovered || state.call);
  if (!isWanted && !timeline.overIsDrawn) return; // to clear a canvas is dear
  timeline.overIsDrawn = isWanted;
  const context = timeline.parts.over.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, timeline.width, timeline.height);
  const area = { x: xOfTime, width: timeline.width, height: timeline.height };
  if (range) drawRange(context, range, area);
  const hovered = timeline.hovered && placeOfCall(timeline.hovered);
  if (hovered) drawOutline(context, hovered, false);
  const selected = state.call && placeOfCall(state.call);
  if (selected) drawOutline(context, selected, true);
}

function nameRow(lane) {
  const label = element('span', { class: 'lane-name', title: lane.label }, lane.label);
  if (lane.kind === 'process') return element('div', { class: 'lane process' }, label);
  const row = element('div', { class: 'lane', 'data-key': lane.key }, label);
  if (lane.kind === 'frames') {
    row.append(element('button', { title: 'close this row', 'aria-label': 'close the row of frames',
      onclick: () => change({ frames: null }) }, '×'));
    return row;
  }
  const pinned = state.pinned.has(lane.stream);
  row.append(
    element('button', { 'aria-pressed': String(pinned), title: pinned ? 'unpin' : 'pin to the top',
      'aria-label': `pin ${lane.label}`, onclick: () => toggleIn('pinned', lane.stream) },
    pinned ? '★' : '☆'),
    element('button', { 'aria-pressed': String(lane.folded), 'aria-label': `fold ${lane.label}`,
      title: lane.folded ? 'show all depths' : 'show the outermost calls only',
      onclick: () => toggleIn('collapsed', lane.stream) }, lane.folded ? '▸' : '▾'));
  return row;
}

/** Adds VALUE to a set of the state, or takes it out. */
export function toggleIn(key, value) {
  const next = new Set(state[key]);
  if (!next.delete(value)) next.add(value);
  change({ [key]: next });
}

/* Rows are kept while they are the same, so that the focus stays in them. */
function drawNames(lanes) {
  const { names, scroll } = timeline.parts;
  const wanted = new Map(lanes.map((lane) =>
    [`${lane.key} ${lane.folded} ${state.pinned.has(lane.stream)} ${lane.label}`, lane]));
  for (const row of [...names.children]) {
    const stays = wanted.has(row.dataset.version);
    if (!stays && !row.contains(document.activeElement)) row.remove();
    else if (!stays) { row.remove(); names.tabIndex = -1; names.focus(); }
  }
  const present = new Map([...names.children].map((row) => [row.dataset.version, row]));
  for (const [version, lane] of wanted) {
    let row = present.get(version);
    if (!row) {
      row = nameRow(lane);
      row.dataset.version = version;
      names.append(row);
    }
    row.style.transform = `translateY(${lane.top - scroll.scrollTop}px)`;
    row.style.height = `${lane.height - 2}px`;
  }
}

/** Moves the view; it stays within the trace and at least some ns wide. */
export function showView(since, until) {
  const { duration_ns: duration } = model.trace;
  const width = Math.min(duration, Math.max(LEAST_VIEW_NS, until - since));
  const from = Math.min(duration - width, Math.max(0, since + (until - since - width) / 2));
  change({ view: { since: from, until: from + width } });
}

/** Makes the view FACTOR times as wide, around a time that stays where it is. */
export function zoomAround(time, factor) {
  const { since, until } = state.view;
  showView(time - (time - since) * factor, time + (until - time) * factor);
}

/** Moves the view by a share of its width. */
export function panBy(share) {
  const { since, until } = state.view;
  const step = share * (until - since);
  const { duration_ns: duration } = model.trace;
  const move = Math.min(duration - until, Math.max(-since, step));
  showView(since + move, until + move);
}

/** Shows a call with room around it, and scrolls to its thread. */
export function showCall(call, zoom) {
  const { since, until } = state.view;
  const width = Math.max(call.end - call.start, 1);
  const tooSmall = width / (until - since) * timeline.width < 3;
  const outside = call.end < since || call.start > until;
  if (zoom || tooSmall) showView(call.start - width * 0.25, call.end + width * 0.25);
  else if (outside) {
    const middle = (call.start + call.end) / 2;
    showView(middle - (until - since) / 2, middle + (until - since) / 2);
  }
  scrollToCall(call);
}

/** Scrolls so that the row of a call is seen. */
export function scrollToCall(call) {
  const lane = timeline.lanes.find((one) => one.kind === 'thread' && one.stream === call.stream);
  if (!lane) return;
  const { scroll } = timeline.parts;
  const top = lane.top + Math.min(call.depth, Math.max(0, lane.rows - 1)) * lane.rowHeight;
  if (top < scroll.scrollTop) scroll.scrollTop = Math.max(0, top - 20);
  else if (top + 20 > scroll.scrollTop + timeline.height) scroll.scrollTop = top + 40 - timeline.height;
}

/** The best set of boxes for a stream at a time. */
export function spansFor(stream, time) {
  const { part, whole } = loaded;
  const good = part && part.since <= time && part.until >= time &&
    (part.streams === null || part.streams.has(stream));
  return good ? part : whole?.streams?.has(stream) === false ? null : whole;
}

/** What is at a place of the lanes: {lane, depth, time, span, mark}; null outside of lanes. */
export function thingAt(x, y) {
  const top = y + timeline.parts.scroll.scrollTop;
  const lane = timeline.lanes.find((one) => top >= one.top && top < one.top + one.height);
  if (!lane || lane.kind === 'process') return null;
  const time = timeOfX(x);
  const slack = 1.5 * (state.view.until - state.view.since) / timeline.width;
  const depth = Math.floor((top - lane.top) / lane.rowHeight);
  const isNear = (mark) => markIsAt(mark, lane) && time >= mark.t_ns - 3 * slack &&
    time <= mark.t_ns + (mark.length_ns ?? 0) + 3 * slack;
  const mark = loaded.marks.find(isNear) ?? null;
  if (lane.kind === 'frames') return { lane, depth, time, mark: null, span: frameAt(time, slack) };
  const spans = spansFor(lane.stream, time);
  const span = spans && depth < lane.rows ? spanNear(spans, lane.stream, depth, time, slack) : null;
  return { lane, depth, time, span, mark };
}

function frameAt(time, slack) {
  if (!loaded.frames) return null;
  for (const stream of loaded.frames.depths.keys()) {
    const found = spanNear(loaded.frames, stream, 0, time, slack);
    if (found) return { ...found, isFrame: true };
  }
  return null;
}

/** "f, 1.2 ms" of a call, for short messages. */
export function callName(call) {
  return nameOf(call.function);
}
