/*
 * The call paths of the range: asked for once, used by all tabs that show them. Small paths come as
 * one, unless the user asks for all.
 */
import { rangeVersion, askRange } from './panel.js';
import { treeOfGraph, hasRest } from './paths.js';
import { model } from './model.js';
import { element, formatCount, formatShare } from './format.js';

const LEAST_SHARE = 0.001;

/** `all`: all paths are wanted, not only those above 0.1 %. */
export const graph = { all: false, version: '', promise: null };
const watchers = [];

function treeOfAnswer(answer) {
  const top = treeOfGraph(answer);
  return { top, rest: hasRest(top), estimate: answer.share ?? (answer.estimated ? 0 : null) };
}

/**
 * The tree of the range: {top, rest, estimate}. `rest`: some paths are left out. ON_FIRST(tree) is
 * called before with an estimate, if the exact tree takes longer than a moment; `estimate` is the
 * share of the events that it is made from, 0 if that is not known; null: the tree is exact.
 */
export async function graphOfRange(signal, onFirst) {
  const version = `${rangeVersion()} ${graph.all}`;
  if (graph.version === version && graph.tree) return graph.tree;
  const query = { least: graph.all ? 0 : LEAST_SHARE };
  const quick = onFirst && !model.source.embedded ? 1 : undefined;
  let tree = treeOfAnswer(await askRange('/api/graph', { ...query, quick }, signal));
  if (tree.estimate !== null && quick) {
    onFirst(tree);
    tree = treeOfAnswer(await askRange('/api/graph', query, signal));
  }
  graph.tree = tree;
  graph.version = version;
  return graph.tree;
}

/** A button that switches between all paths and those above 0.1 %; AGAIN shows the tab again. */
export function allPathsButton(again) {
  const button = element('button', { 'aria-pressed': String(graph.all), class: 'all-paths',
    title: 'paths below 0.1 % one by one, too (slower for large traces)' }, 'all paths');
  button.addEventListener('click', () => {
    graph.all = !graph.all;
    watchers.forEach((watch) => watch());
    again();
  });
  watchers.push(() => button.setAttribute('aria-pressed', String(graph.all)));
  if (model.source.embedded) button.hidden = true;
  return button;
}

/** What a tree is, in words. */
export function treeWords({ top, rest, estimate }) {
  if (estimate !== null && !model.source.embedded) {
    const part = estimate > 0 ? ` from ${formatShare(estimate, 1)} of the events` : '';
    return `an estimate${part}; the exact picture is being made…`;
  }
  const isProcess = (node) => node.number === null && !node.rest && node.module === '';
  const outer = top.children.flatMap((node) => (isProcess(node) ? node.children : [node]));
  const calls = outer.reduce((sum, node) => sum + node.calls, 0);
  const counted = `counted, not sampled; ${formatCount(calls)} outermost ${calls === 1 ? 'call' : 'calls'}`;
  return rest ? `${counted}; paths below 0.1 % are drawn together` : counted;
}
