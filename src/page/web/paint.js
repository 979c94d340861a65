/*
 * Draws the lanes of the timeline into a canvas.
 *
 * Boxes of one row are written into one row of pixels; a lane's rows are then scaled to their height
 * by one drawImage(). That is some twenty times faster than a rectangle for each box. Only wide
 * boxes get text. All measures here are pixels of the canvas, not of the style sheet.
 */
import { nameOf } from './model.js';
import { colours, packedColour, fadeColour, packedStyleColour, styleColour } from './colours.js';
import { SPAN, spanRow, firstEndingFrom } from './spans.js';
import { formatNs, formatCalls } from './format.js';

const DENSE_SHARE = 0.72;
const UNMATCHED_SHARE = 0.22;

/** A painter for CANVAS. */
export function newPainter(canvas) {
  const rowsCanvas = document.createElement('canvas');
  return { canvas, context: canvas.getContext('2d'), rowsCanvas, rows: rowsCanvas.getContext('2d'),
    image: null };
}

/* `scene`: {view, ratio, lanes (visible ones), scroll, sets (sets of spans, the last is the best),
 * frames (set or null), density, duration, matches (Set or null), hideBelow, incomplete (boxes may be missing)}. */

/* Colours of boxes by function, of single calls and of dense boxes; 0: not made yet. */
const shades = { single: new Uint32Array(1024), dense: new Uint32Array(1024), key: [] };

function startShades(scene) {
  const key = [colours.version, scene.background, scene.matches];
  if (key.every((part, i) => part === shades.key[i])) return;
  shades.key = key;
  shades.single.fill(0);
  shades.dense.fill(0);
}

function isFaded(scene, number) {
  return scene.matches !== null && !scene.matches.has(number);
}

function makeShade(scene, number, name) {
  if (number >= shades[name].length) {
    const larger = new Uint32Array(2 * number);
    larger.set(shades[name]);
    shades[name] = larger;
  }
  let colour = packedColour(number);
  if (isFaded(scene, number)) colour = fadeColour(colour, scene.background, UNMATCHED_SHARE);
  else if (name === 'dense') colour = fadeColour(colour, scene.background, DENSE_SHARE);
  shades[name][number] = colour;
  return colour;
}

function colourOfBox(scene, spans, i) {
  const number = spans.function[i];
  if (spans.flags[i] & SPAN.DENSE) return shades.dense[number] || makeShade(scene, number, 'dense');
  const colour = shades.single[number] || makeShade(scene, number, 'single');
  const isOdd = spans.isFrames && i % 2 === 1;
  return isOdd && !isFaded(scene, number) ? fadeColour(colour, scene.background, 0.8) : colour;
}

function isHidden(scene, spans, i) {
  if (scene.hideBelow === 0) return false;
  if (spans.flags[i] & SPAN.DENSE) return scene.hideBelow > (spans.nsPerPixel ?? scene.nsPerPixel);
  return spans.end[i] - spans.start[i] < scene.hideBelow;
}

/* Most boxes are a pixel or two wide: for these a loop is faster than fill(). */
function fillPixels(pixels, colour, from, to) {
  if (to - from > 8) pixels.fill(colour, from, to);
  else for (let x = from; x < to; x++) pixels[x] = colour;
}

/* Writes one row of pixels, which begins at area.at in PIXELS, from x=FROM to x=TO, and notes boxes
 * that are wide enough for text. */
function paintRow(scene, spans, row, pixels, area, labels) {
  const { since } = scene.view;
  const scale = 1 / scene.nsPerPixel;
  const gap = 3 * scene.ratio;
  const until = since + area.to * scene.nsPerPixel;
  let i = firstEndingFrom(spans, row, since + area.from * scene.nsPerPixel);
  for (; i < row.to && spans.start[i] < until; i++) {
    if (isHidden(scene, spans, i)) continue;
    const x0 = Math.floor((spans.start[i] - since) * scale);
    let x1 = Math.max(x0 + 1, Math.floor((spans.end[i] - since) * scale));
    if (x1 - x0 >= gap) x1 -= 1;
    const from = Math.max(area.from, x0);
    const to = Math.min(area.to, x1);
    if (to <= from) continue;
    fillPixels(pixels, colourOfBox(scene, spans, i), area.at + from, area.at + to);
    if (labels && to - from > 24 * scene.ratio) labels.push({ spans, i, from, to, ...area.place });
  }
}

/* The part of [0, width) that a set of spans covers. */
function coverOf(scene, spans, width) {
  const from = Math.round((spans.since - scene.view.since) / scene.nsPerPixel);
  const to = Math.round((spans.until - scene.view.since) / scene.nsPerPixel);
  return { from: Math.max(0, from), to: Math.min(width, to) };
}

/* True if what was loaded tells about all of a lane. */
function hasBoxes(scene, lane) {
  const [whole] = scene.sets;
  return Boolean(whole) && whole.streams?.has(lane.stream) !== false;
}

/* The pieces of [0, width) and the set that is the best for each. */
function piecesOf(scene, lane, width) {
  if (lane.kind === 'frames') {
    return scene.frames ? [{ spans: scene.frames, from: 0, to: width }] : [];
  }
  const [rough, fine] = scene.sets.map((set) => (set?.streams?.has(lane.stream) === false ? null : set));
  const covered = fine ? coverOf(scene, fine, width) : null;
  if (!covered || covered.to <= covered.from) {
    return rough ? [{ spans: rough, from: 0, to: width }] : [];
  }
  return [
    { spans: fine, ...covered },
    ...(rough ? [{ spans: rough, from: 0, to: covered.from },
      { spans: rough, from: covered.to, to: width }] : []),
  ].filter((piece) => piece.to > piece.from);
}

function paintLaneRows(scene, lane, image, firstRow, labels) {
  const { width } = image;
  const pixels = new Uint32Array(image.data.buffer);
  for (const piece of piecesOf(scene, lane, width)) {
    for (let depth = 0; depth < lane.rows; depth++) {
      const streams = lane.kind === 'frames' ? scene.framesStreams : [lane.stream];
      const { rowHeight } = lane;
      const area = { from: piece.from, to: piece.to, at: (firstRow + depth) * width,
        place: { y: lane.y + depth * rowHeight * scene.ratio, rowHeight } };
      for (const stream of streams) {
        const row = spanRow(piece.spans, stream, depth);
        if (row) paintRow(scene, piece.spans, row, pixels, area, lane.rowHeight > 10 ? labels : null);
      }
    }
  }
}

/** Shows how many events a thread has in each pixel, where boxes are not there yet. */
function paintDensity(painter, scene, lane) {
  const counts = scene.density?.of(lane.stream);
  if (!counts) return;
  const { context } = painter;
  const { width } = painter.canvas;
  const most = counts.reduce((a, b) => Math.max(a, b), 1);
  const height = lane.height * scene.ratio - 5 * scene.ratio;
  context.globalAlpha = 0.4;
  context.fillStyle = styleColour('--quiet');
  for (let x = 0; x < width; x++) {
    const time = scene.view.since + (x + 0.5) * scene.nsPerPixel;
    const count = counts[Math.floor(time / scene.duration * scene.density.columns)] ?? 0;
    if (count === 0) continue;
    const bar = Math.max(1, height * Math.log1p(count) / Math.log1p(most));
    context.fillRect(x, lane.y + height - bar, 1, bar);
  }
  context.globalAlpha = 1;
}

function paintSeparators(painter, scene, lane) {
  if (lane.rowHeight < 5) return;
  painter.context.fillStyle = styleColour('--ground');
  for (let depth = 1; depth <= lane.rows; depth++) {
    const y = Math.round(lane.y + depth * lane.rowHeight * scene.ratio) - 1;
    painter.context.fillRect(0, y, painter.canvas.width, 1);
  }
}

const widths = new Map();

/** TEXT cut to WIDTH pixels with an ellipsis, or "" if less than two letters fit. */
export function textThatFits(context, text, width) {
  const measure = (part) => {
    const key = context.font + part;
    if (widths.size > 20000) widths.clear();
    if (!widths.has(key)) widths.set(key, context.measureText(part).width);
    return widths.get(key);
  };
  const shown = text.length > 300 ? text.slice(0, 300) : text;
  if (measure(shown) <= width) return shown;
  const letters = Math.floor(shown.length * width / measure(shown)) - 1;
  return letters >= 2 ? `${shown.slice(0, letters)}…` : '';
}

function labelOf(spans, i) {
  if (spans.flags[i] & SPAN.DENSE) {
    return `${formatCalls(spans.calls[i])}, mostly ${nameOf(spans.function[i])}`;
  }
  const began = spans.flags[i] & SPAN.BEFORE ? '« ' : '';
  const length = formatNs(spans.end[i] - spans.start[i]);
  return spans.isFrames ? length : `${began}${nameOf(spans.function[i])}`;
}

function paintLabels(painter, scene, labels) {
  const { context } = painter;
  const { ratio } = scene;
  context.textBaseline = 'alphabetic';
  for (const { spans, i, from, to, y, rowHeight } of labels) {
    context.font = `${(rowHeight < 14 ? 10 : 11) * ratio}px system-ui, sans-serif`;
    const faded = scene.matches && !scene.matches.has(spans.function[i]);
    context.fillStyle = styleColour(faded ? '--faint' : '--on-colour');
    const text = textThatFits(context, labelOf(spans, i), to - from - 6 * ratio);
    if (text) context.fillText(text, from + 3 * ratio, y + (rowHeight / 2 + 3.5) * ratio);
  }
}

/* An empty image of rows; the one before is taken again if it is as large. */
function imageOf(painter, width, height) {
  const { image } = painter;
  if (image?.width === width && image.height === height) new Uint32Array(image.data.buffer).fill(0);
  else painter.image = painter.rows.createImageData(width, height);
  return painter.image;
}

/** Draws a scene. Its lanes get `y`, in pixels of the canvas. */
export function paintScene(painter, scene) {
  const { canvas, context, rowsCanvas, rows } = painter;
  scene.nsPerPixel = (scene.view.until - scene.view.since) / canvas.width;
  scene.background = packedStyleColour('--ground');
  startShades(scene);
  context.fillStyle = styleColour('--ground');
  context.fillRect(0, 0, canvas.width, canvas.height);
  const total = scene.lanes.reduce((sum, lane) => sum + lane.rows, 0);
  const labels = [];
  if (total > 0) {
    if (rowsCanvas.width !== canvas.width) rowsCanvas.width = canvas.width;
    if (rowsCanvas.height < total) rowsCanvas.height = total;
    const image = imageOf(painter, canvas.width, total);
    let first = 0;
    for (const lane of scene.lanes) {
      lane.y = Math.round((lane.top - scene.scroll) * scene.ratio);
      lane.firstRow = first;
      paintLaneRows(scene, lane, image, first, labels);
      first += lane.rows;
    }
    rows.putImageData(image, 0, 0);
  }
  context.imageSmoothingEnabled = false;
  for (const lane of scene.lanes) paintLane(painter, scene, lane);
  paintLabels(painter, scene, labels);
}

function paintLane(painter, scene, lane) {
  const { canvas, context, rowsCanvas } = painter;
  lane.y = Math.round((lane.top - scene.scroll) * scene.ratio);
  if (lane.kind === 'process') {
    context.fillStyle = styleColour('--heading');
    context.fillRect(0, lane.y, canvas.width, lane.height * scene.ratio);
    return;
  }
  if (lane.kind === 'thread' && (scene.incomplete || !hasBoxes(scene, lane))) paintDensity(painter, scene, lane);
  if (lane.rows > 0) {
    context.drawImage(rowsCanvas, 0, lane.firstRow, canvas.width, lane.rows,
      0, lane.y, canvas.width, Math.round(lane.rows * lane.rowHeight * scene.ratio));
    paintSeparators(painter, scene, lane);
  }
  context.fillStyle = styleColour('--line');
  context.fillRect(0, Math.round(lane.y + (lane.height - 3) * scene.ratio), canvas.width, 1);
}
