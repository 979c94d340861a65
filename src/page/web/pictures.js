/*
 * The tabs "Flame" (flame graph and icicle) and "Callers/Callees" (both sides of one function).
 */
import { state, change } from './state.js';
import { timeline } from './timeline.js';
import { nameOf } from './model.js';
import { newFlame } from './flame.js';
import { graphOfRange, allPathsButton, treeWords } from './graph.js';
import { callersTree, calleesTree, timeOfMatches } from './paths.js';
import { element, formatNs, formatShare, formatCalls } from './format.js';
import { refreshTab } from './panel.js';

const flameTab = { flame: null, note: null, way: null, tree: null };
const sandwichTab = { callers: null, callees: null, note: null, title: null };

function pickFunction(node) {
  if (node.number !== null) change({ function: node.number });
}

function matchWords(top) {
  if (!timeline.matches) return '';
  const time = timeOfMatches(top, timeline.matches);
  return `; the search's functions: ${formatShare(time, top.total)} of the time`;
}

/** The tab "Flame". */
export const flameView = {
  id: 'flame', label: 'Flame', needs: ['search', 'theme'],
  build() {
    flameTab.flame = newFlame({ label: 'flame graph of the range', upward: false, pick: pickFunction });
    flameTab.flame.root.id = 'flame-picture';
    flameTab.note = element('span', { class: 'note grow', role: 'status' });
    flameTab.way = element('button', { 'aria-pressed': 'false', title: 'the root at the bottom',
      onclick: turnFlame }, 'root at the bottom');
    const out = element('button', { onclick: () => flameTab.flame.zoomOut() }, 'zoom out');
    return [element('div', { class: 'bar' }, flameTab.way, allPathsButton(refreshTab), out, flameTab.note),
      flameTab.flame.root];
  },
  async show(signal) {
    drawTree(await graphOfRange(signal, drawTree));
  },
};

/* What is zoomed to stays so when the exact picture takes the place of an estimate. */
function drawTree(tree) {
  const { flame, tree: before } = flameTab;
  if (before === tree) {
    flame.draw();
  } else {
    const keys = before && before.estimate !== null && tree.estimate === null ? flame.zoomKeys() : [];
    flame.show(tree.top, tree.top.total);
    flame.zoomToKeys(keys);
  }
  flameTab.tree = tree;
  flameTab.note.textContent = treeWords(tree) + matchWords(tree.top);
}

function turnFlame() {
  const upward = flameTab.way.getAttribute('aria-pressed') !== 'true';
  flameTab.way.setAttribute('aria-pressed', String(upward));
  flameTab.flame.setUpward(upward);
}

/** The tab "Callers/Callees". */
export const sandwichView = {
  id: 'sandwich', label: 'Callers/Callees', needs: ['function', 'search', 'theme'],
  build() {
    sandwichTab.callers = newFlame({ label: 'who calls it', upward: true, twice: pickFunction });
    sandwichTab.callees = newFlame({ label: 'what it calls', upward: false, twice: pickFunction });
    sandwichTab.callers.root.id = 'callers-picture';
    sandwichTab.callees.root.id = 'callees-picture';
    sandwichTab.title = element('strong', {});
    sandwichTab.note = element('span', { class: 'note grow', role: 'status' });
    return [
      element('div', { class: 'bar' }, sandwichTab.title, sandwichTab.note, allPathsButton(refreshTab)),
      sandwichTab.callers.root, sandwichTab.callees.root];
  },
  async show(signal) {
    const number = state.function;
    sandwichTab.title.textContent = number === null ? '' : nameOf(number);
    if (number === null) {
      sandwichTab.note.textContent = 'Select a function: in the timeline, the table, or a picture.';
      return;
    }
    const { top, rest } = await graphOfRange(signal);
    const callers = callersTree(top, number);
    const callees = calleesTree(top, number);
    sandwichTab.callers.show(callers, top.total);
    sandwichTab.callees.show(callees, top.total);
    sandwichTab.note.textContent = sandwichWords(callers, top, rest);
  },
};

function sandwichWords(callers, top, rest) {
  const calls = callers.children.reduce((sum, node) => sum + node.calls, 0);
  const least = rest ? 'at least ' : '';
  const pruned = rest ? ' (paths below 0.1 % are left out)' : '';
  if (callers.children.length === 0) {
    return rest ? 'Only in paths below 0.1 %, if at all: “all paths” shows them.' : 'No calls in the range.';
  }
  return `${least}${formatNs(callers.total)} = ${formatShare(callers.total, top.total)}, ` +
    `${least}${formatCalls(calls)}${pruned}; callers above, callees below; a double click goes there`;
}
