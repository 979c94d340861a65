/*
 * A picture of a tree of paths: a box's width is its time. The root is at the bottom (flame graph)
 * or at the top (icicle). A click zooms; arrow keys move, Enter zooms, Backspace zooms out.
 */
import { timeline } from './timeline.js';
import { cssColour, styleColour } from './colours.js';
import { textThatFits } from './paint.js';
import { depthOfTree } from './paths.js';
import { showTip, hideTip } from './tip.js';
import { tell } from './callinfo.js';
import { element, formatNs, formatShare, formatCalls } from './format.js';

const ROW = 18;

/** A picture. OPTIONS: {label, pick(node), twice(node), upward}. Returns {root, show(top, all),
 * setUpward(bool), draw(), zoomOut(), zoomKeys(), zoomToKeys(keys)}; `all` is the time that is
 * 100 %. Keys are those of the nodes from the outermost to the one that is zoomed to. */
export function newFlame(options) {
  const flame = {
    options, top: null, zoom: null, focus: null, hover: null, upward: options.upward, all: 1, parents: null,
  };
  flame.canvas = element('canvas', { role: 'img', 'aria-label': options.label });
  flame.sticky = element('div', { class: 'sticky' }, flame.canvas);
  flame.sticky.style.cssText = 'position: sticky; top: 0;';
  flame.spacer = element('div');
  flame.root = element('div', { class: 'picture', tabindex: '0', role: 'application',
    'aria-label': `${options.label}; arrow keys move, Enter zooms` }, flame.sticky, flame.spacer);
  flame.root.addEventListener('scroll', () => drawFlame(flame), { passive: true });
  flame.root.addEventListener('keydown', (event) => onFlameKey(flame, event));
  flame.canvas.addEventListener('pointermove', (event) => onFlameHover(flame, event));
  flame.canvas.addEventListener('pointerleave', () => { flame.hover = null; hideTip(); drawFlame(flame); });
  flame.canvas.addEventListener('click', (event) => onFlameClick(flame, event));
  flame.canvas.addEventListener('dblclick', (event) => {
    const node = nodeAtEvent(flame, event);
    if (node && !node.rest) options.twice?.(node);
  });
  new ResizeObserver(() => resizeFlame(flame)).observe(flame.root);
  return {
    root: flame.root, draw: () => drawFlame(flame), node: () => flame.focus,
    show: (top, all) => showFlame(flame, top, all),
    setUpward: (upward) => { flame.upward = upward; resizeFlame(flame); scrollToRoot(flame); },
    zoomOut: () => zoomTo(flame, null),
    zoomKeys: () => pathTo(flame, flame.zoom).map((node) => node.key),
    zoomToKeys: (keys) => zoomTo(flame, nodeOfKeys(flame, keys)),
  };
}

function showFlame(flame, top, all) {
  flame.top = top;
  flame.all = all;
  flame.zoom = null;
  flame.focus = null;
  flame.hover = null;
  flame.parents = new Map();
  const work = [top];
  while (work.length > 0) {
    const node = work.pop();
    for (const child of node.children) {
      flame.parents.set(child, node);
      work.push(child);
    }
  }
  flame.depth = depthOfTree(top);
  resizeFlame(flame);
  scrollToRoot(flame);
}

function scrollToRoot(flame) {
  flame.root.scrollTop = flame.upward ? flame.root.scrollHeight : 0;
  drawFlame(flame);
}

function resizeFlame(flame) {
  const { root, canvas, spacer } = flame;
  const ratio = devicePixelRatio || 1;
  flame.width = Math.max(1, root.clientWidth);
  flame.height = Math.max(1, root.clientHeight);
  canvas.width = Math.round(flame.width * ratio);
  canvas.height = Math.round(flame.height * ratio);
  canvas.style.width = `${flame.width}px`;
  canvas.style.height = `${flame.height}px`;
  flame.sticky.style.height = `${flame.height}px`;
  flame.full = Math.max(flame.height, (flame.depth ?? 0) * ROW + 4);
  spacer.style.height = `${flame.full - flame.height}px`;
  drawFlame(flame);
}

/* The nodes from the outermost to NODE, without the top. */
function pathTo(flame, node) {
  const path = [];
  for (let at = node; at && at !== flame.top; at = flame.parents.get(at)) path.unshift(at);
  return path;
}

function yOfDepth(flame, depth) {
  const from = flame.upward ? flame.full - (depth + 1) * ROW : depth * ROW;
  return from - flame.root.scrollTop;
}

/* Calls DRAW(node, depth, x, width) for each box that is at least a part of a pixel wide. */
function layOut(flame, draw) {
  const path = flame.zoom ? pathTo(flame, flame.zoom) : [];
  path.forEach((node, depth) => draw(node, depth, 0, flame.width));
  const base = flame.zoom ?? flame.top;
  const work = [{ node: base, depth: path.length, x: 0, scale: flame.width / Math.max(1, base.total) }];
  while (work.length > 0) {
    const { node, depth, x, scale } = work.pop();
    let at = x;
    for (const child of node.children) {
      const width = Math.min(child.total * scale, flame.width - at);
      if (width >= 0.3) {
        draw(child, depth, at, width);
        work.push({ node: child, depth: depth + 1, x: at, scale });
      }
      at += child.total * scale;
    }
  }
}

function colourOfNode(node) {
  return node.rest ? styleColour('--line') : cssColour(node.module, node.name);
}

function drawFlame(flame) {
  if (!flame.top || !flame.width) return;
  const context = flame.canvas.getContext('2d');
  const ratio = devicePixelRatio || 1;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = styleColour('--ground');
  context.fillRect(0, 0, flame.width, flame.height);
  context.font = '11px system-ui, sans-serif';
  const { matches } = timeline;
  layOut(flame, (node, depth, x, width) => {
    const y = yOfDepth(flame, depth);
    if (y < -ROW || y > flame.height) return;
    const faded = matches && !matches.has(node.number);
    context.globalAlpha = faded ? 0.25 : 1;
    context.fillStyle = colourOfNode(node);
    context.fillRect(x, y, width > 3 ? width - 1 : Math.max(0.8, width), ROW - 1);
    context.globalAlpha = 1;
    if (width > 30) {
      context.fillStyle = styleColour(faded || node.rest ? '--ink' : '--on-colour');
      const share = width > 160 ? `  ${formatShare(node.total, flame.all)}` : '';
      context.fillText(textThatFits(context, node.name + share, width - 7), x + 3, y + 12.5);
    }
    const strong = node === flame.focus;
    if (!strong && node !== flame.hover) return;
    context.strokeStyle = styleColour('--ink');
    context.lineWidth = strong ? 2 : 1;
    context.strokeRect(x + 1, y + 1, Math.max(1, width - 3), ROW - 3);
  });
}

function nodeAtEvent(flame, event) {
  const box = flame.canvas.getBoundingClientRect();
  const place = { x: event.clientX - box.left, y: event.clientY - box.top };
  let found = null;
  if (!flame.top) return null;
  layOut(flame, (node, depth, x, width) => {
    const y = yOfDepth(flame, depth);
    if (place.y >= y && place.y < y + ROW && place.x >= x && place.x < x + Math.max(1, width)) found = node;
  });
  return found;
}

/* What a box stands for, in lines. */
function nodeLines(flame, node) {
  const above = flame.parents.get(node);
  const ofParent = above && above !== flame.top ? `, ${formatShare(node.total, above.total)} of ${above.name}` : '';
  return [node.name, node.rest ? '' : node.module,
    `${formatNs(node.total)} = ${formatShare(node.total, flame.all)} of all${ofParent}`,
    node.self > 0 ? `self ${formatNs(node.self)}` : '', `${formatCalls(node.calls)}`];
}

function onFlameHover(flame, event) {
  const node = nodeAtEvent(flame, event);
  if (node) showTip(event, nodeLines(flame, node));
  else hideTip();
  if (node === flame.hover) return;
  flame.hover = node;
  drawFlame(flame);
}

/* The deepest node that KEYS lead to; null: none. */
function nodeOfKeys(flame, keys) {
  let found = null;
  for (const key of keys) {
    const next = (found ?? flame.top).children.find((child) => child.key === key);
    if (!next) break;
    found = next;
  }
  return found;
}

function zoomTo(flame, node) {
  flame.zoom = node && !node.rest ? node : null;
  drawFlame(flame);
}

function onFlameClick(flame, event) {
  const node = nodeAtEvent(flame, event);
  flame.focus = node;
  zoomTo(flame, node === flame.zoom ? flame.parents.get(node) ?? null : node);
  if (flame.zoom === flame.top) zoomTo(flame, null);
  if (node) tell(nodeLines(flame, node).filter((line) => line).join(', '));
  if (node && !node.rest) flame.options.pick?.(node);
}

function moveFocus(flame, direction) {
  const { focus, top, parents } = flame;
  if (!focus) return top.children[0] ?? null;
  const siblings = parents.get(focus).children;
  const at = siblings.indexOf(focus);
  if (direction === 'in') return focus.children[0] ?? focus;
  if (direction === 'out') return parents.get(focus) === top ? focus : parents.get(focus);
  return siblings[Math.max(0, Math.min(siblings.length - 1, at + direction))];
}

function onFlameKey(flame, event) {
  if (!flame.top || event.ctrlKey || event.metaKey || event.altKey) return;
  const vertical = flame.upward ? ['ArrowUp', 'ArrowDown'] : ['ArrowDown', 'ArrowUp'];
  const moves = { [vertical[0]]: 'in', [vertical[1]]: 'out', ArrowLeft: -1, ArrowRight: 1 };
  if (event.key in moves) {
    flame.focus = moveFocus(flame, moves[event.key]);
    if (flame.focus) {
      tell(nodeLines(flame, flame.focus).filter((line) => line).join(', '));
      scrollToDepth(flame, pathTo(flame, flame.focus).length - 1);
    }
  } else if (event.key === 'Enter' && flame.focus) {
    zoomTo(flame, flame.focus);
    if (!flame.focus.rest) flame.options.pick?.(flame.focus);
  } else if (event.key === 'Backspace') {
    const out = flame.zoom ? flame.parents.get(flame.zoom) : null;
    zoomTo(flame, out === flame.top ? null : out);
  } else return;
  drawFlame(flame);
  event.preventDefault();
  event.stopPropagation();
}

function scrollToDepth(flame, depth) {
  const y = yOfDepth(flame, depth);
  if (y < 0) flame.root.scrollTop += y;
  else if (y + ROW > flame.height) flame.root.scrollTop += y + ROW - flame.height;
}
