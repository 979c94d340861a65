/*
 * The call paths of the range: asked for once, used by all tabs that show them. Small paths come as
 * one, unless the user asks for all.
 */
import { rangeVersion, askRange } from './panel.js';
import { treeOfGraph, hasRest } from './paths.js';
import { model } from './model.js';
import { element, formatCount } from './format.js';

const LEAST_SHARE = 0.001;

/** `all`: all paths are wanted, not only those above 0.1 %. */
export const graph = { all: false, version: '', promise: null };
const watchers = [];

/** The tree of the range: {top, rest}. `rest`: some paths are left out. */
export async function graphOfRange(signal) {
  const version = `${rangeVersion()} ${graph.all}`;
  if (graph.version === version && graph.tree) return graph.tree;
  const query = { least: graph.all ? 0 : LEAST_SHARE };
  const top = treeOfGraph(await askRange('/api/graph', query, signal));
  graph.tree = { top, rest: hasRest(top) };
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
export function treeWords({ top, rest }) {
  const isProcess = (node) => node.number === null && !node.rest && node.module === '';
  const outer = top.children.flatMap((node) => (isProcess(node) ? node.children : [node]));
  const calls = outer.reduce((sum, node) => sum + node.calls, 0);
  const counted = `counted, not sampled; ${formatCount(calls)} outermost ${calls === 1 ? 'call' : 'calls'}`;
  return rest ? `${counted}; paths below 0.1 % are drawn together` : counted;
}
