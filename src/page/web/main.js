/*
 * Starts the page: finds the data, shows the first picture, and joins the parts.
 */
import { dataSource } from './source.js';
import { showTrouble } from './trouble.js';
import { state, change, onChange, tokenOfFragment, stateOfFragment } from './state.js';
import { model, learnTrace, learnNames } from './model.js';
import { forgetColours } from './colours.js';
import { startTimeline, relayout, redraw, timeline, showView } from './timeline.js';
import { startLoader, loadDensity, forgetBoxes, loaderIsBusy, loaded } from './loader.js';
import { startPointer } from './pointer.js';
import { startCallInfo, tell } from './callinfo.js';
import { fittingRowHeight } from './lanes.js';
import { startPanel, refreshPanel } from './panel.js';
import { functionsView, redrawFunctions } from './functions.js';
import { flameView, sandwichView } from './pictures.js';
import { topDownView, bottomUpView } from './outline.js';
import { sourceView } from './sourcetab.js';
import { compareView } from './compare.js';
import { startSearch, searchAgain } from './search.js';
import { startKeys, switchTheme, showHelp } from './keys.js';
import { formatNs, formatCount, parseNs } from './format.js';

const DENSITY_COLUMNS = 1200;
const REFRESH_MS = 2000;

const part = (id) => document.getElementById(id);

function drawHead() {
  const { trace, source } = model;
  document.title = `${trace.name} – spoor`;
  part('title').textContent = trace.name;
  part('title').title = `${trace.path ?? trace.name}\n${(trace.command ?? []).join(' ')}`;
  const parts = [formatNs(trace.duration_ns), `${formatCount(trace.events)} events`];
  if (trace.lost > 0) parts.push(`${formatCount(trace.lost)} lost`);
  if (trace.complete === false) parts.push('the recording was cut short');
  if (source.embedded) parts.push('a recorded part');
  part('about').textContent = parts.join(', ');
  part('about').title = part('about').textContent;
}

function drawRangeText() {
  const { range } = state;
  part('range-clear').hidden = !range;
  part('range-text').textContent = range
    ? `range ${formatNs(range.until - range.since)} from ${formatNs(range.since)}` : '';
}

function applyTheme() {
  if (state.theme === 'light' || state.theme === 'dark') document.documentElement.dataset.theme = state.theme;
  else delete document.documentElement.dataset.theme;
  forgetColours();
  if (timeline.parts) redraw();
}

function joinInputs() {
  const { hide, threads } = { hide: part('hide'), threads: part('threads') };
  hide.value = state.hideBelow > 0 ? formatNs(state.hideBelow).replace(' ', '') : '';
  threads.value = state.threads;
  hide.addEventListener('input', () => {
    const ns = parseNs(hide.value);
    const bad = hide.value.trim() !== '' && Number.isNaN(ns);
    hide.setAttribute('aria-invalid', String(bad));
    if (!bad) change({ hideBelow: Number.isNaN(ns) ? 0 : ns });
    tell(bad ? 'A time is a number and ns, us, ms or s: 10us' : '');
  });
  threads.addEventListener('input', () => change({ threads: threads.value }));
  part('range-clear').addEventListener('click', () => change({ range: null }));
  part('theme').addEventListener('click', switchTheme);
  part('help-open').addEventListener('click', showHelp);
  part('trouble').lastElementChild.addEventListener('click', () => { part('trouble').hidden = true; });
  onChange(['range'], drawRangeText);
  onChange(['theme'], applyTheme);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', applyTheme);
}

function setPanelHeight(height) {
  const all = part('panel').parentElement.clientHeight;
  const pixels = Math.round(Math.max(60, Math.min(all - 110, height)));
  part('panel').style.height = `${pixels}px`;
  part('splitter').setAttribute('aria-valuenow', String(Math.round(100 * pixels / all)));
}

function joinSplitter() {
  const splitter = part('splitter');
  splitter.addEventListener('pointerdown', (event) => {
    splitter.setPointerCapture(event.pointerId);
    const bottom = part('panel').getBoundingClientRect().bottom;
    const onMove = (moved) => setPanelHeight(bottom - moved.clientY - 3);
    splitter.addEventListener('pointermove', onMove);
    splitter.addEventListener('pointerup', () => splitter.removeEventListener('pointermove', onMove),
      { once: true });
  });
  splitter.addEventListener('keydown', (event) => {
    const step = { ArrowUp: 24, ArrowDown: -24 }[event.key];
    if (!step) return;
    setPanelHeight(part('panel').clientHeight + step);
    event.preventDefault();
    event.stopPropagation();
  });
}

/* The times between which there are calls, with some room. */
function busyView() {
  const { trace, source } = model;
  const busy = trace.threads.filter((thread) => thread.events > 0 && Number.isFinite(thread.last_ns));
  if (busy.length === 0) return { since: 0, until: Math.max(1, trace.duration_ns) };
  const first = Math.min(...busy.map((thread) => thread.first_ns));
  const last = Math.max(...busy.map((thread) => thread.last_ns));
  const room = (last - first) * 0.01;
  const { since, until } = source.embedded ?? { since: 0, until: trace.duration_ns };
  return { since: Math.max(since, first - room), until: Math.min(until, last + room) || 1 };
}

let refreshed = 0;
let progressed = false; // the summary was not complete when the page was opened

function onProgress({ items, all, complete }) {
  const bar = part('progress');
  bar.hidden = Boolean(complete);
  bar.value = all > 0 ? items / all : 0;
  bar.title = `summary: ${formatCount(items)} of ${formatCount(all)}`;
  const due = performance.now() - refreshed > REFRESH_MS;
  if (complete && !progressed) {
    loaded.summaryComplete = true;
    redraw();
    loadLines();
    return;
  }
  progressed = true;
  if (!complete && (!due || loaderIsBusy())) return;
  refreshed = performance.now();
  forgetBoxes();
  loaded.summaryComplete = Boolean(complete);
  relayout();
  if (complete) relearn().then(refreshPanel).then(loadLines, showTrouble);
}

/* In the background, when all else is there. */
async function loadLines() {
  try {
    await loadNames(1);
    redrawFunctions();
  } catch (error) {
    showTrouble(error);
  }
}

async function relearn() {
  learnTrace(await model.source.fetchJson('/api/trace'));
  await loadNames();
  relayout();
}

/* LINES: with files and lines, which takes longer. */
async function loadNames(lines) {
  learnNames(await model.source.fetchJson('/api/names', { lines }));
  forgetColours();
  searchAgain();
  redraw();
}

async function followProgress() {
  if (model.source.embedded) return;
  try {
    await model.source.follow('/api/progress', onProgress);
    showTrouble({ kind: 'gone', message: 'spoor view has ended. What was loaded stays here.' });
  } catch (error) {
    showTrouble(error.kind ? error
      : { kind: 'gone', message: 'spoor view has ended. What was loaded stays here.' });
  }
}

function startParts(kept) {
  startTimeline();
  startLoader(fitRows(kept), showTrouble);
  startPointer();
  startSearch();
  startKeys();
  startCallInfo();
  joinInputs();
  joinSplitter();
  drawHead();
  drawRangeText();
  startPanel([functionsView, flameView, topDownView, bottomUpView, sandwichView, sourceView, compareView]);
  if (kept.rowHeight === undefined) change({ rowHeight: fittingRowHeight(timeline.height) });
}

/* The rows' height follows the depths until they are known, or the user sets it. */
function fitRows(kept) {
  let fitted = state.rowHeight;
  return () => {
    if (kept.rowHeight === undefined && state.rowHeight === fitted && !loaded.summaryComplete) {
      change({ rowHeight: fittingRowHeight(timeline.height) });
      fitted = state.rowHeight;
    }
    if (loaded.moreMarks) tell('This view has more marks than are drawn: zoom in to see all.');
    relayout();
  };
}

async function start() {
  model.source = dataSource(tokenOfFragment());
  const kept = stateOfFragment();
  if (kept.theme) change({ theme: kept.theme });
  applyTheme();
  learnTrace(await model.source.fetchJson('/api/trace'));
  change({ view: busyView(), ...kept });
  showView(state.view.since, state.view.until);
  startParts(kept);
  loadDensity(DENSITY_COLUMNS);
  await loadNames();
  followProgress();
  document.documentElement.dataset.ready = 'yes';
}

addEventListener('hashchange', () => location.reload());
start().catch(showTrouble);
