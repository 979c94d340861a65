/*
 * What the mouse does on the timeline: the wheel zooms, a drag measures and sets the range, a drag
 * with the middle button or Shift moves the view, a click selects, a double click zooms.
 */
import { state, change } from './state.js';
import { model } from './model.js';
import { timeline, drawOver, redraw, thingAt, timeOfX, zoomAround, panBy, showView, showCall } from './timeline.js';
import { describeThing } from './callinfo.js';
import { valueLines, wantValues } from './values.js';
import { hideTip, showTip } from './tip.js';
import { MAP_HEIGHT } from './ruler.js';

const CLICK_PIXELS = 4;
const hover = { thing: null }; // what the pointer is on

function pointerOn(event, target) {
  const box = target.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

function onWheel(event) {
  event.preventDefault();
  const { x } = pointerOn(event, timeline.parts.over);
  if (event.altKey) {
    timeline.parts.scroll.scrollTop += event.deltaY;
    return;
  }
  const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
  if (Math.abs(sideways) > Math.abs(event.deltaY) || event.shiftKey) {
    panBy(sideways / timeline.width);
    return;
  }
  const lines = event.deltaMode === 1 ? 16 : 1;
  zoomAround(timeOfX(x), Math.exp(Math.max(-400, Math.min(400, event.deltaY * lines)) / 400));
}

function rangeOf(a, b) {
  const { duration_ns: duration } = model.trace;
  const clip = (time) => Math.round(Math.min(duration, Math.max(0, time)));
  const since = clip(Math.min(a, b));
  return { since, until: Math.max(since + 1, clip(Math.max(a, b))) };
}

function onDown(event) {
  if (event.button > 1) return;
  const { over } = timeline.parts;
  const down = pointerOn(event, over);
  const began = timeOfX(down.x);
  const moves = event.button === 1 || event.shiftKey;
  let last = down;
  let far = false;
  over.setPointerCapture(event.pointerId);
  const onMove = (moved) => {
    const now = pointerOn(moved, over);
    far ||= Math.abs(now.x - down.x) >= CLICK_PIXELS;
    if (moves) panBy((last.x - now.x) / timeline.width);
    else if (far) {
      timeline.measured = rangeOf(began, timeOfX(now.x));
      hover.thing = null;
      hideTip();
      drawOver();
    }
    last = now;
  };
  const onUp = () => {
    over.removeEventListener('pointermove', onMove);
    const measured = timeline.measured;
    timeline.measured = null;
    if (measured) change({ range: measured });
    else if (!far && !moves) selectAt(down);
    redraw();
  };
  over.addEventListener('pointermove', onMove);
  over.addEventListener('pointerup', onUp, { once: true });
  over.addEventListener('pointercancel', onUp, { once: true });
}

function callOfThing(thing) {
  if (!thing?.span) return null;
  const { stream, start, end, depth } = thing.span;
  return { stream, start, end, depth, function: thing.span.function };
}

function selectAt({ x, y }) {
  const thing = thingAt(x, y);
  const dense = thing?.span && thing.span.calls > 1;
  if (dense) {
    change({ call: null, function: thing.span.function });
    return;
  }
  const call = callOfThing(thing);
  change(call ? { call, function: call.function } : { call: null });
}

function onDoubleClick(event) {
  const at = pointerOn(event, timeline.parts.over);
  const call = callOfThing(thingAt(at.x, at.y));
  const time = timeOfX(at.x);
  const { range } = state;
  if (call) showCall(call, true);
  else if (range && time >= range.since && time <= range.until) showView(range.since, range.until);
  else zoomAround(time, 0.5);
}

function onHover(event) {
  if (timeline.measured) return;
  const at = pointerOn(event, timeline.parts.over);
  const thing = thingAt(at.x, at.y);
  timeline.hovered = thing?.span && !thing.span.isFrame ? thing.span : null;
  drawOver();
  const describe = () => showTip(event, [...describeThing(thing), ...valueLines(thing.span)]);
  hover.thing = thing;
  if (thing && (thing.span || thing.mark)) describe();
  else hideTip();
  wantValues(thing, () => { if (hover.thing === thing) describe(); });
}

/* A press or a drag in the small picture moves the view there. */
function onRulerDown(event) {
  const { ruler } = timeline.parts;
  const down = pointerOn(event, ruler);
  const began = timeOfX(down.x);
  const inMap = down.y < MAP_HEIGHT;
  ruler.setPointerCapture(event.pointerId);
  const onMove = (moved) => {
    const { x } = pointerOn(moved, ruler);
    const { since, until } = state.view;
    if (inMap) {
      const middle = x / timeline.width * model.trace.duration_ns;
      showView(middle - (until - since) / 2, middle + (until - since) / 2);
    } else if (Math.abs(x - down.x) >= CLICK_PIXELS) {
      change({ range: rangeOf(began, timeOfX(x)) });
    }
  };
  onMove(event);
  ruler.addEventListener('pointermove', onMove);
  const stop = () => ruler.removeEventListener('pointermove', onMove);
  ruler.addEventListener('pointerup', stop, { once: true });
  ruler.addEventListener('pointercancel', stop, { once: true });
}

/** Listens to the mouse from now on. */
export function startPointer() {
  const { over, ruler, names } = timeline.parts;
  over.addEventListener('wheel', onWheel, { passive: false });
  over.addEventListener('pointerdown', onDown);
  over.addEventListener('pointermove', onHover);
  over.addEventListener('dblclick', onDoubleClick);
  over.addEventListener('pointerleave', () => {
    timeline.hovered = hover.thing = null;
    wantValues(null);
    hideTip();
    drawOver();
  });
  ruler.addEventListener('wheel', onWheel, { passive: false });
  ruler.addEventListener('pointerdown', onRulerDown);
  names.addEventListener('wheel', (event) => {
    timeline.parts.scroll.scrollTop += event.deltaY;
  }, { passive: true });
}
