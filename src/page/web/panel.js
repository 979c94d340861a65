/*
 * The panel below the timeline: its tabs, and what all of them need: the answers about the range
 * and the threads that are shown.
 *
 * A tab is {id, label, needs (keys of the state), build(): element, show(signal): promise}. show() is
 * called when the tab is seen and one of its keys has changed; a newer call aborts the signal.
 */
import { state, change, onChange } from './state.js';
import { model } from './model.js';
import { wantedStreams, wantedThreads } from './lanes.js';
import { element, formatNs } from './format.js';
import { hideTip } from './tip.js';
import { showIfGeneral } from './trouble.js';
import { isAbort, DataError } from './source.js';

const panel = { tabs: [], built: new Map(), current: null, controller: null, timer: 0, note: null, generation: 0 };

/** The query for the range and the threads. */
export function rangeQuery() {
  const range = state.range ?? {};
  return { since: range.since, until: range.until, streams: wantedStreams() };
}

/** Changes whenever the answers about the range may change. */
export function rangeVersion() {
  return JSON.stringify([panel.generation, state.range, state.threads]);
}

/** What tables are about, in words. A recorded file can say it only of all of itself. */
export function rangeWords() {
  const { embedded } = model.source;
  if (embedded) {
    const chosen = state.range || wantedStreams() !== undefined;
    const recorded = embedded.allThreads ? 'the whole recorded range, all threads' : 'the whole recorded range';
    return chosen ? `still ${recorded}: the file holds no other tables` : recorded;
  }
  const shown = wantedThreads().length;
  const all = model.trace.threads.length;
  const threads = shown === all ? 'all threads' : `${shown} of ${all} threads`;
  return state.range ? `range of ${formatNs(state.range.until - state.range.since)}, ${threads}`
    : `whole trace, ${threads}`;
}

/** Asks for an answer about the range; `signal` gives it up. */
export async function askRange(path, query, signal) {
  if (wantedStreams() === 'none') throw new DataError('refused', 'No thread is shown: no calls.');
  return model.source.fetchJson(path, { ...rangeQuery(), ...query }, signal);
}

/** Makes the tabs. */
export function startPanel(tabs) {
  panel.tabs = tabs;
  const bar = document.getElementById('tabs');
  for (const tab of tabs) {
    bar.append(element('button', { role: 'tab', id: `tab-${tab.id}`, 'aria-controls': 'page',
      onclick: () => change({ tab: tab.id }) }, tab.label));
  }
  panel.note = element('span', { class: 'note', id: 'panel-note' });
  bar.append(panel.note);
  bar.addEventListener('keydown', onTabKey);
  const keys = new Set(['tab', 'range', 'threads', ...tabs.flatMap((tab) => tab.needs)]);
  onChange([...keys], () => showTab());
  if (!tabs.some((tab) => tab.id === state.tab)) state.tab = tabs[0].id;
  showTab();
}

/** All tabs ask again: the summary is complete. */
export function refreshPanel() {
  panel.generation++;
  showTab();
}

/** Shows the tab in sight again, with what is asked for anew. */
export function refreshTab() {
  for (const built of panel.built.values()) built.version = '';
  showTab();
}

function onTabKey(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const at = panel.tabs.findIndex((tab) => tab.id === state.tab);
  const next = panel.tabs[(at + step + panel.tabs.length) % panel.tabs.length];
  change({ tab: next.id });
  document.getElementById(`tab-${next.id}`).focus();
  event.preventDefault();
  event.stopPropagation();
}

function versionOf(tab) {
  return rangeVersion() + JSON.stringify(tab.needs.map((key) => state[key]));
}

function showTab() {
  const tab = panel.tabs.find((one) => one.id === state.tab);
  if (!tab) return;
  for (const one of panel.tabs) {
    const button = document.getElementById(`tab-${one.id}`);
    button.setAttribute('aria-selected', String(one === tab));
    button.tabIndex = one === tab ? 0 : -1;
  }
  const page = document.getElementById('page');
  page.setAttribute('aria-labelledby', `tab-${tab.id}`);
  if (!panel.built.has(tab.id)) {
    const root = element('div', { class: 'column' });
    root.append(...tab.build());
    panel.built.set(tab.id, { root, version: '' });
  }
  const built = panel.built.get(tab.id);
  if (page.firstElementChild !== built.root) {
    page.replaceChildren(built.root);
    hideTip();
  }
  if (built.version === versionOf(tab)) {
    if (panel.current === built) return;
    panel.note.textContent = rangeWords();
    return;
  }
  panel.note.textContent = `working… ${rangeWords()}`;
  built.version = versionOf(tab);
  clearTimeout(panel.timer);
  if (panel.current && panel.current !== built) giveUp(panel.current);
  panel.current = built;
  built.root.setAttribute('aria-busy', 'true');
  panel.controller?.abort();
  panel.controller = new AbortController();
  const { signal } = panel.controller;
  panel.timer = setTimeout(() => runTab(tab, built, signal), 30);
}

/* A tab whose answers were not waited for asks again when it is seen the next time. */
function giveUp(built) {
  if (!built.root.hasAttribute('aria-busy')) return;
  built.version = '';
  built.root.removeAttribute('aria-busy');
}

async function runTab(tab, built, signal) {
  try {
    await tab.show(signal);
    if (!signal.aborted) panel.note.textContent = rangeWords();
  } catch (error) {
    if (isAbort(error)) return;
    built.version = '';
    panel.note.textContent = error.message;
    showIfGeneral(error);
    if (!(error instanceof DataError)) console.error(error);
  }
  if (panel.controller.signal === signal) built.root.removeAttribute('aria-busy');
}
