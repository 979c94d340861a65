/*
 * Call paths: the answer of /api/graph as a tree, and the trees that are made of it.
 *
 * A node: {key, name, module, number, calls, total, self, children, rest}. `rest` stands for several
 * smaller paths. Calls are counted, not sampled. In a path, time is counted once: where a function
 * is called again below itself, only the outermost call counts for it.
 */

import { plainText } from './format.js';

const REST_KEY = '\0rest';

function keyOfNode(raw) {
  if (raw.rest) return REST_KEY;
  return `${raw.module ?? ''}\0${raw.name}\0${raw.function ?? ''}`;
}

function newNode(key, like) {
  return { key, name: like.name, module: like.module, number: like.number, calls: 0, total: 0, self: 0,
    children: [], rest: like.rest, index: null };
}

/** The tree of an answer of /api/graph. */
export function treeOfGraph(raw) {
  const top = newNode('', { name: raw.name, module: '', number: null, rest: false });
  top.total = raw.total_ns;
  const work = [[raw, top]];
  while (work.length > 0) {
    const [from, to] = work.pop();
    for (const child of from.children ?? []) {
      const node = newNode(keyOfNode(child), { name: plainText(child.name), module: plainText(child.module),
        number: child.function ?? null, rest: Boolean(child.rest) });
      node.calls = child.calls;
      node.total = child.total_ns;
      node.self = child.self_ns;
      to.children.push(node);
      work.push([child, node]);
    }
  }
  sortTree(top);
  return top;
}

function sortTree(top) {
  const work = [top];
  while (work.length > 0) {
    const node = work.pop();
    node.index = null;
    node.children.sort((a, b) => Number(a.rest) - Number(b.rest) || b.total - a.total ||
      (a.key < b.key ? -1 : 1));
    work.push(...node.children);
  }
}

/* The child of NODE that is like LIKE, made if need be. */
function childLike(node, like) {
  node.index ??= new Map();
  let child = node.index.get(like.key);
  if (!child) {
    child = newNode(like.key, like);
    if (like.rest) child.name = '(smaller paths)';
    node.index.set(like.key, child);
    node.children.push(child);
  }
  return child;
}

/* Calls VISIT(node, path) for each node but the top; PATH holds its ancestors, the outermost first. */
function walkTree(top, visit) {
  const path = [];
  const work = top.children.map((node) => [node, 0]).reverse();
  while (work.length > 0) {
    const [node, depth] = work.pop();
    path.length = depth;
    visit(node, path);
    path.push(node);
    for (let i = node.children.length - 1; i >= 0; i--) work.push([node.children[i], depth + 1]);
  }
}

function addInverted(top, node, path, weight) {
  let at = childLike(top, node);
  at.total += weight;
  at.calls += node.calls;
  for (let i = path.length - 1; i >= 0; i--) {
    at = childLike(at, path[i]);
    at.total += weight;
    at.calls += node.calls;
  }
}

/** Functions by their own time, and below each the paths that call it. */
export function bottomUpTree(top) {
  const result = newNode('', top);
  walkTree(top, (node, path) => {
    if (node.self > 0 || node.calls > 0) addInverted(result, node, path, node.self);
    result.total += node.self;
  });
  sortTree(result);
  return result;
}

/** Who calls the function NUMBER: one node for it, its callers below, theirs below them. */
export function callersTree(top, number) {
  const result = newNode('', top);
  walkTree(top, (node, path) => {
    if (node.number !== number || node.rest) return;
    const inner = path.some((one) => one.number === number);
    addInverted(result, node, path, inner ? 0 : node.total);
  });
  result.total = result.children.reduce((sum, node) => sum + node.total, 0);
  sortTree(result);
  return result;
}

function mergeTree(target, node) {
  const work = [[target, node]];
  while (work.length > 0) {
    const [to, from] = work.pop();
    to.total += from.total;
    to.self += from.self;
    to.calls += from.calls;
    for (const child of from.children) work.push([childLike(to, child), child]);
  }
}

/** What the function NUMBER calls: one node for it, what it calls below. */
export function calleesTree(top, number) {
  const result = newNode('', top);
  walkTree(top, (node, path) => {
    if (node.number !== number || node.rest || path.some((one) => one.number === number)) return;
    mergeTree(childLike(result, node), node);
  });
  result.total = result.children.reduce((sum, node) => sum + node.total, 0);
  sortTree(result);
  return result;
}

/** True if some paths were left out of a tree. */
export function hasRest(top) {
  const work = [top];
  while (work.length > 0) {
    const node = work.pop();
    if (node.rest) return true;
    work.push(...node.children);
  }
  return false;
}

/** The greatest number of nodes on a path. */
export function depthOfTree(top) {
  let most = 0;
  walkTree(top, (node, path) => { most = Math.max(most, path.length + 1); });
  return most;
}

/** The share of the time in functions of MATCHES, each path once; ns. */
export function timeOfMatches(top, matches) {
  let sum = 0;
  const work = [...top.children];
  while (work.length > 0) {
    const node = work.pop();
    if (matches.has(node.number)) sum += node.total;
    else work.push(...node.children);
  }
  return sum;
}
