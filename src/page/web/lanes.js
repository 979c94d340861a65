/*
 * Which threads the timeline shows, in which order, and how high each is.
 *
 * A lane is {kind, stream, key, label, top, height, rows, rowHeight}: kind "thread", "process" (a
 * heading) or "frames" (the calls of one function, one row for each thread).
 */
import { state } from './state.js';
import { model, nameOf, threadText } from './model.js';
import { formatNs } from './format.js';

const HEADING_HEIGHT = 18;
const LANE_GAP = 5;
const LEAST_HEIGHT = 18;
const FEW_THREADS = 16;

const seenDepths = new Map();

/** Takes note of how deep the calls of threads were in a set of spans. */
export function learnDepths(spans) {
  let grown = false;
  for (const [stream, depth] of spans.depths) {
    if (depth <= (seenDepths.get(stream) ?? 0)) continue;
    seenDepths.set(stream, depth);
    grown = true;
  }
  return grown;
}

/** How many rows a thread has. */
export function depthOf(thread) {
  return Math.max(thread.depth ?? 0, seenDepths.get(thread.stream) ?? 0);
}

function threadIsWanted(thread) {
  const wanted = state.threads.trim().toLowerCase();
  if (!wanted) return true;
  const process = model.trace.processes.find((entry) => entry.process === thread.process);
  const text = `${thread.name} ${thread.tid} ${process?.name ?? ''} ${thread.pid}`;
  return text.toLowerCase().includes(wanted);
}

/** The threads that the filter leaves. */
export function wantedThreads() {
  return model.trace.threads.filter(threadIsWanted);
}

/** "1,5,7" for requests, or undefined if all threads are shown. */
export function wantedStreams() {
  const wanted = wantedThreads();
  if (wanted.length === model.trace.threads.length) return undefined;
  return wanted.map((thread) => thread.stream).join(',') || 'none';
}

function threadLane(thread) {
  const folded = state.collapsed.has(thread.stream);
  const rows = folded ? Math.min(1, depthOf(thread)) : depthOf(thread);
  const rowHeight = folded ? 14 : state.rowHeight;
  return {
    kind: 'thread', stream: thread.stream, key: `t${thread.stream}`, rows, rowHeight, folded,
    label: threadText(thread.stream), height: Math.max(LEAST_HEIGHT, rows * rowHeight) + LANE_GAP,
  };
}

function framesLanes() {
  if (state.frames === null) return [];
  const shortest = model.source.embedded?.threshold_ns ?? 0;
  const which = shortest > 0 ? ` of ${formatNs(shortest)} and more` : '';
  return [{
    kind: 'frames', stream: -1, key: 'frames', rows: 1, rowHeight: 18, height: 18 + LANE_GAP,
    label: `frames of ${nameOf(state.frames)}${which}`, folded: false,
  }];
}

/** All lanes from top to bottom: frames, pinned threads, then each process with its threads. */
export function lanesNow() {
  const threads = wantedThreads();
  const pinned = threads.filter((thread) => state.pinned.has(thread.stream));
  const others = threads.filter((thread) => !state.pinned.has(thread.stream));
  const lanes = [...framesLanes(), ...pinned.map(threadLane)];
  const manyProcesses = model.trace.processes.length > 1;
  for (const process of model.trace.processes) {
    const own = others.filter((thread) => thread.process === process.process);
    if (own.length === 0) continue;
    if (manyProcesses) {
      lanes.push({ kind: 'process', stream: -1, key: `p${process.process}`, rows: 0, rowHeight: 0,
        height: HEADING_HEIGHT, label: `${process.name || 'process'} ${process.pid}` });
    }
    lanes.push(...own.map(threadLane));
  }
  let top = 0;
  for (const lane of lanes) {
    lane.top = top;
    top += lane.height;
  }
  return lanes;
}

/** The height of all of them. */
export function heightOfLanes(lanes) {
  const last = lanes[lanes.length - 1];
  return last ? last.top + last.height : 0;
}

/** A height of rows with which the threads fit well into HEIGHT, once depths are known. A few threads
 * rather scroll than lose the names in their boxes. */
export function fittingRowHeight(height) {
  const rows = model.trace.threads.reduce((sum, thread) => sum + Math.max(1, depthOf(thread)), 0);
  const least = model.trace.threads.length <= FEW_THREADS ? 12 : 5;
  return [16, 12, 8, 5].find((size) => rows * size <= 3.5 * height || size === least);
}
