/*
 * Above the lanes: the whole trace in small, with its density, what the view shows and the range;
 * and the axis. And over the lanes: marks, the range, the selected call.
 * All functions draw into a canvas context whose unit is a pixel of the style sheet.
 */
import { styleColour } from './colours.js';
import { niceStep, formatTick, formatNs } from './format.js';

export const MAP_HEIGHT = 26;
export const AXIS_HEIGHT = 18;

const MARK_COLOURS = {
  lost: '--lost', cut: '--lost', death: '--lost', pause: '--pause', snapshot: '--pause',
  stop: '--pause', signal: '--signal', change: '--signal', usdt: '--signal',
};

/** What the kinds of marks are called. */
export const MARK_WORDS = {
  lost: 'lost events', pause: 'pause of the recording', cut: 'cut calls', signal: 'signal',
  snapshot: 'snapshot', change: 'change of what is traced', death: 'death', stop: 'stop', usdt: 'USDT probe',
};

/** The colour of a mark. */
export function markColour(kind) {
  return styleColour(MARK_COLOURS[kind] ?? '--signal');
}

function sumsOf(density) {
  if (!density.sums) {
    density.sums = new Float64Array(density.columns);
    for (let stream = 0; stream < density.streams; stream++) {
      const counts = density.of(stream);
      for (let i = 0; i < density.columns; i++) density.sums[i] += counts[i];
    }
    density.most = density.sums.reduce((a, b) => Math.max(a, b), 1);
  }
  return density.sums;
}

/** The whole trace in small. `box`: {width, duration, view, range, density}. */
export function drawMap(context, { width, duration, view, range, density }) {
  context.fillStyle = styleColour('--heading');
  context.fillRect(0, 0, width, MAP_HEIGHT);
  const x = (time) => time / duration * width;
  if (density) {
    const sums = sumsOf(density);
    context.fillStyle = styleColour('--quiet');
    context.beginPath();
    for (let i = 0; i < sums.length; i++) {
      if (sums[i] === 0) continue;
      const bar = Math.max(1, (MAP_HEIGHT - 3) * Math.log1p(sums[i]) / Math.log1p(density.most));
      context.rect(i / sums.length * width, MAP_HEIGHT - bar, Math.max(1, width / sums.length), bar);
    }
    context.fill();
  }
  if (range) {
    context.fillStyle = styleColour('--range');
    context.fillRect(x(range.since), 0, Math.max(1, x(range.until) - x(range.since)), MAP_HEIGHT);
  }
  const from = Math.max(0, x(view.since));
  const to = Math.min(width, Math.max(from + 2, x(view.until)));
  context.fillStyle = styleColour('--veil');
  context.fillRect(0, 0, from, MAP_HEIGHT);
  context.fillRect(to, 0, width - to, MAP_HEIGHT);
  context.strokeStyle = styleColour('--focus');
  context.strokeRect(from + 0.5, 0.5, Math.max(1, to - from - 1), MAP_HEIGHT - 1);
}

/** The times of ticks in a view of WIDTH pixels, and their step. */
export function ticksOf(view, width) {
  const step = niceStep(view.until - view.since, width / 110);
  const ticks = [];
  for (let i = Math.ceil(view.since / step); i * step <= view.until; i++) ticks.push(i * step);
  return { ticks, step };
}

/** The axis, below the map. */
export function drawAxis(context, { width, view }) {
  const { ticks, step } = ticksOf(view, width);
  const top = MAP_HEIGHT;
  context.fillStyle = styleColour('--ground');
  context.fillRect(0, top, width, AXIS_HEIGHT);
  context.font = '11px system-ui, sans-serif';
  context.textBaseline = 'alphabetic';
  for (const tick of ticks) {
    const x = Math.round((tick - view.since) / (view.until - view.since) * width);
    context.fillStyle = styleColour('--line');
    context.fillRect(x, top, 1, AXIS_HEIGHT);
    context.fillStyle = styleColour('--faint-ink');
    context.fillText(formatTick(tick, step), x + 3, top + 13);
  }
}

const PROBE_HEIGHT = 8; // there may be many: they would hide the calls

/** Marks of one lane. `place`: {x(time), y, height}. Short ones are a line with a triangle. */
export function drawMark(context, mark, place) {
  const from = place.x(mark.t_ns);
  const length = place.x(mark.t_ns + (mark.length_ns ?? 0)) - from;
  context.fillStyle = markColour(mark.kind);
  const isProbe = mark.kind === 'usdt';
  if (length >= 2 && !isProbe) {
    context.globalAlpha = 0.3;
    context.fillRect(from, place.y, length, place.height);
    context.globalAlpha = 1;
    context.fillRect(from, place.y, 1, place.height);
    context.fillRect(from + length - 1, place.y, 1, place.height);
    return;
  }
  context.fillRect(Math.round(from), place.y, 1, isProbe ? PROBE_HEIGHT : place.height);
  context.beginPath();
  context.moveTo(from - 4, place.y);
  context.lineTo(from + 4.5, place.y);
  context.lineTo(from + 0.5, place.y + 6);
  context.fill();
}

/** The range over all lanes, with its length at the top. */
export function drawRange(context, range, { x, width, height }) {
  const from = x(range.since);
  const to = x(range.until);
  if (to < 0 || from > width) return;
  context.fillStyle = styleColour('--range');
  context.fillRect(from, 0, Math.max(1, to - from), height);
  context.fillStyle = styleColour('--focus');
  context.fillRect(Math.round(from), 0, 1, height);
  context.fillRect(Math.round(to), 0, 1, height);
  const text = formatNs(range.until - range.since);
  context.font = 'bold 12px system-ui, sans-serif';
  const wide = context.measureText(text).width + 10;
  const middle = Math.min(width - wide, Math.max(0, (Math.max(0, from) + Math.min(width, to) - wide) / 2));
  context.fillRect(middle, 2, wide, 18);
  context.fillStyle = styleColour('--ground');
  context.fillText(text, middle + 5, 15);
}

/** A frame around a box. */
export function drawOutline(context, { from, to, y, height }, strong) {
  context.strokeStyle = styleColour('--ink');
  context.lineWidth = strong ? 2 : 1;
  context.strokeRect(from - 0.5, y - 0.5, Math.max(2, to - from), height);
  context.lineWidth = 1;
}
