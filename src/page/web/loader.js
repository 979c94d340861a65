/*
 * Fetches what the timeline shows: density first, then boxes of the whole trace, then of what is in
 * view, with as much again on its sides so that a small pan needs nothing. A newer request aborts
 * the older ones. The timeline draws what is there meanwhile.
 */
import { state } from './state.js';
import { model } from './model.js';
import { spansOfBytes, densityOfBytes, spansOfFunction } from './spans.js';
import { learnDepths } from './lanes.js';
import { isAbort } from './source.js';

const REST_MS = 60;
const EXACT_REST_MS = 400;
const MOST_MARKS = 20000;

/** What was loaded; `rough`: some boxes in view are not exact yet; until `summaryComplete`, boxes of
 * later times are missing. */
export const loaded = {
  density: null, whole: null, part: null, frames: null, marks: [], moreMarks: false, rough: false,
  generation: 0, waiting: 0, summaryComplete: false,
};

const hooks = { onLoaded: () => {}, onError: () => {} };
const running = new Map();
const timers = new Map();
const asked = new Map();

/* True if NAME was asked for with the same KEY before; notes the KEY. */
function isSame(name, ...key) {
  const text = JSON.stringify([loaded.generation, ...key]);
  if (asked.get(name) === text) return true;
  asked.set(name, text);
  return false;
}

/** ON_LOADED is called when something came, ON_ERROR with what went wrong. */
export function startLoader(onLoaded, onError) {
  hooks.onLoaded = onLoaded;
  hooks.onError = onError;
}

/* Runs WORK(signal) as the only one called NAME. */
async function runOnly(name, work) {
  running.get(name)?.abort();
  const controller = new AbortController();
  running.set(name, controller);
  loaded.waiting++;
  try {
    await work(controller.signal);
    if (running.get(name) === controller) running.delete(name);
    hooks.onLoaded();
  } catch (error) {
    if (isAbort(error)) return;
    asked.delete(name);
    hooks.onError(error);
  } finally {
    loaded.waiting--;
  }
}

function later(name, delay, work) {
  clearTimeout(timers.get(name));
  timers.set(name, setTimeout(() => {
    timers.delete(name);
    work();
  }, delay));
}

/** True while something is asked for, or will be. */
export function loaderIsBusy() {
  return loaded.waiting > 0 || timers.size > 0;
}

/** Density of all threads, for the first picture. */
export function loadDensity(columns) {
  return runOnly('density', async (signal) => {
    const bytes = await model.source.fetchBinary('/api/density', { columns }, signal);
    loaded.density = densityOfBytes(bytes);
  });
}

/* Boxes of the whole trace, of the threads in sight: what is drawn until those of the view come. */
function wantWhole(columns, streams) {
  const { embedded } = model.source;
  if (embedded ? loaded.whole : streams.length === 0) return;
  if (isSame('whole', columns, embedded ? null : streams)) return;
  const query = { since: 0, until: model.trace.duration_ns, columns, streams: streams.join(',') };
  later('whole', loaded.whole ? REST_MS : 0, () => runOnly('whole', async (signal) => {
    const { generation } = loaded;
    const spans = spansOfBytes(await model.source.fetchBinary('/api/spans', query, signal));
    Object.assign(spans, { streams: embedded ? null : new Set(streams), generation,
      nsPerPixel: embedded ? embedded.threshold_ns : model.trace.duration_ns / columns });
    learnDepths(spans);
    loaded.whole = spans;
  }));
}

/** All boxes are asked for again: the summary has grown. */
export function forgetBoxes() {
  loaded.generation++;
}

/* The view with half of it again on each side, within the trace. */
function widened(view) {
  const half = (view.until - view.since) / 2;
  return {
    since: Math.max(0, Math.floor(view.since - half)),
    until: Math.min(model.trace.duration_ns, Math.ceil(view.until + half)),
  };
}

/* True if SPANS are good enough for VIEW: they cover it as finely, and all its threads. */
function suffices(spans, view, nsPerPixel, streams) {
  return spans && spans.generation === loaded.generation && spans.since <= Math.max(0, view.since) &&
    spans.until >= Math.min(model.trace.duration_ns, view.until) &&
    spans.nsPerPixel <= nsPerPixel * 1.01 &&
    (spans.streams === null || streams.every((stream) => spans.streams.has(stream)));
}

async function loadPart(view, nsPerPixel, streams, exact) {
  const wide = widened(view);
  const columns = Math.max(1, Math.ceil((wide.until - wide.since) / nsPerPixel));
  await runOnly('part', async (signal) => {
    const query = { ...wide, columns, streams: streams.join(','), exact: exact ? 1 : undefined };
    const spans = spansOfBytes(await model.source.fetchBinary('/api/spans', query, signal));
    Object.assign(spans, { streams: new Set(streams), nsPerPixel, exact,
      generation: loaded.generation });
    learnDepths(spans);
    loaded.part = spans;
    loaded.rough = spans.rough;
    if (spans.rough && !exact) {
      later('exact', EXACT_REST_MS, () => loadPart(view, nsPerPixel, streams, true));
    }
  });
}

/** Sees to it that the boxes of the view come, after a short rest. WIDTH: pixels of the canvas. */
export function wantView(width, streams) {
  wantWhole(width, streams);
  if (model.source.embedded) return;
  const view = { ...state.view };
  const nsPerPixel = (view.until - view.since) / width;
  if (streams.length === 0 || suffices(loaded.part, view, nsPerPixel, streams)) return;
  if (nsPerPixel * 1.01 >= model.trace.duration_ns / width) {
    asked.delete('part');
    loaded.part = null; // what comes of the whole trace is as fine
    return;
  }
  if (isSame('part', view, width, streams)) return;
  clearTimeout(timers.get('exact'));
  timers.delete('exact');
  later('part', REST_MS, () => loadPart(view, nsPerPixel, streams, false));
}

/** Marks of the view. Those that are alike and in one of COLUMNS pixels come as one. */
export function wantMarks(columns) {
  const view = model.source.embedded ? null : widened(state.view);
  if (isSame('marks', view, columns)) return;
  later('marks', REST_MS, () => runOnly('marks', async (signal) => {
    const query = { ...view, joined: 2 * columns, limit: MOST_MARKS };
    const marks = await model.source.fetchJson('/api/marks', query, signal);
    loaded.marks = marks;
    loaded.moreMarks = marks.length >= MOST_MARKS;
  }));
}

/** The calls of the function of the row "frames", in the view. */
export function wantFrames(columns) {
  const number = state.frames;
  const wide = widened(state.view);
  if (isSame('frames', number, wide, columns)) return;
  if (number === null) {
    loaded.frames = null;
    return;
  }
  if (model.source.embedded) {
    loaded.frames = loaded.whole ? Object.assign(spansOfFunction(loaded.whole, number), { isFrames: true }) : null;
    if (!loaded.whole) asked.delete('frames');
    return;
  }
  later('frames', REST_MS, () => runOnly('frames', async (signal) => {
    const query = { function: number, ...wide, columns: 2 * columns };
    const spans = spansOfBytes(await model.source.fetchBinary('/api/frames', query, signal));
    spans.isFrames = true;
    if (state.frames === number) loaded.frames = spans;
  }));
}
