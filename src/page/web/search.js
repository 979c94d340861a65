/*
 * The search: functions whose names contain the text are lit up everywhere, and their calls are
 * stepped through. "=text" is looked for in values.
 */
import { state, change, onChange } from './state.js';
import { model, nameOf, functionsMatching, threadText } from './model.js';
import { timeline, redraw, showCall } from './timeline.js';
import { loaded } from './loader.js';
import { nextOfFunction } from './spans.js';
import { wantedStreams } from './lanes.js';
import { selectEntry, tell } from './callinfo.js';
import { element, formatNs, formatCount } from './format.js';
import { isAbort } from './source.js';
import { textOfValueSearch } from './values.js';
import { stepValue } from './valuesearch.js';
import { showIfGeneral } from './trouble.js';

const MOST_LISTED = 40;
const MOST_STEPPED = 24;

const search = { input: null, list: null, found: [], chosen: -1, stepping: null };

function updateMatches() {
  const text = state.search.trim();
  const inNames = textOfValueSearch() === null;
  search.found = inNames ? functionsMatching(text, Infinity) : [];
  timeline.matches = text && inNames ? new Set(search.found.map((known) => known.number)) : null;
  redraw();
}

/* The last row: the text is looked for in values. */
function rowOfValues() {
  const inValues = textOfValueSearch();
  const text = inValues ?? state.search.trim();
  if (!model.trace.values || !text) return [];
  const words = inValues === null ? `“${text}” in values…` : `calls with “${text}” in values: Enter`;
  const at = Math.min(search.found.length, MOST_LISTED);
  const row = element('li', { role: 'option', id: `match-${at}`, 'data-values': '',
    'aria-selected': String(search.chosen === at) }, words);
  row.addEventListener('pointerdown', (event) => {
    event.preventDefault();
    chooseValues();
  });
  return [row];
}

function chooseValues() {
  const text = textOfValueSearch() ?? state.search.trim();
  search.input.value = `=${text}`;
  change({ search: search.input.value });
  closeList();
  stepMatch(1);
}

function drawList() {
  const { list, input } = search;
  const rows = search.found.slice(0, MOST_LISTED).map((known, i) => {
    const row = element('li', { role: 'option', id: `match-${i}`, title: known.name,
      'aria-selected': String(i === search.chosen) }, known.name, ' ', element('small', {}, known.module));
    row.addEventListener('pointerdown', (event) => {
      event.preventDefault();
      chooseMatch(i);
    });
    return row;
  });
  if (search.found.length > MOST_LISTED) {
    rows.push(element('li', { class: 'note' }, `${formatCount(search.found.length)} functions match`));
  }
  if (state.search && rows.length === 0 && textOfValueSearch() === null) rows.push(element('li', { class: 'note' }, 'no function matches'));
  rows.push(...rowOfValues());
  list.replaceChildren(...rows);
  list.hidden = rows.length === 0;
  input.setAttribute('aria-expanded', String(!list.hidden));
  if (search.chosen >= 0) input.setAttribute('aria-activedescendant', `match-${search.chosen}`);
  else input.removeAttribute('aria-activedescendant');
  list.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
}

function closeList() {
  search.list.hidden = true;
  search.chosen = -1;
  search.input.setAttribute('aria-expanded', 'false');
}

function chooseMatch(i) {
  const known = search.found[i];
  search.input.value = known.name;
  change({ search: known.name, function: known.number });
  closeList();
  stepMatch(1);
}

/* The functions that are stepped through: the chosen one if its name is the text, else the best. */
function steppedFunctions() {
  const exact = search.found.filter((known) => known.name === state.search.trim());
  return (exact.length > 0 ? exact : search.found).slice(0, MOST_STEPPED);
}

/* A recorded file is searched itself: it knows calls that are boxes of their own. */
async function nextCall(number, time, direction, signal) {
  if (!model.source.embedded) {
    const query = { function: number, t: time, direction, streams: wantedStreams() };
    return model.source.fetchJson('/api/next', query, signal);
  }
  const span = nextOfFunction(loaded.whole, number, time, direction);
  return span && { stream: span.stream, t_ns: span.start, duration_ns: span.end - span.start, depth: span.depth };
}

/** Selects the next (1) or previous (-1) call of a function that matches. */
export async function stepMatch(direction) {
  const inValues = textOfValueSearch();
  if (inValues !== null) {
    await stepValue(inValues, direction);
    return;
  }
  if (search.found.length === 0) {
    const number = state.function;
    if (state.search || number === null) {
      tell(state.search ? 'No function matches.' : 'Nothing is searched for: press / and type.');
      return;
    }
  }
  const functions = search.found.length > 0 ? steppedFunctions().map((known) => known.number)
    : [state.function];
  const from = state.call && functions.includes(state.call.function) ? state.call.start
    : direction > 0 ? state.view.since - 1 : state.view.until;
  search.stepping?.abort();
  search.stepping = new AbortController();
  const { signal } = search.stepping;
  const ask = (number) => nextCall(number, Math.floor(from), direction, signal)
    .then((call) => (call ? { number, call } : null));
  try {
    const answers = (await Promise.all(functions.map(ask))).filter((answer) => answer);
    answers.sort((a, b) => direction * (a.call.t_ns - b.call.t_ns));
    goTo(answers[0], functions, direction);
  } catch (error) {
    if (isAbort(error)) return;
    tell(error.message);
    showIfGeneral(error);
  }
}

function goTo(answer, functions, direction) {
  if (!answer) {
    tell(`No ${direction > 0 ? 'later' : 'earlier'} call of ${functions.map(nameOf).join(', ')}.`);
    return;
  }
  selectEntry(answer.number, answer.call);
  showCall(state.call, false);
  tell(`${nameOf(answer.number)} at ${formatNs(answer.call.t_ns)} in ${threadText(answer.call.stream)}`);
}

function onSearchKey(event) {
  const functions = Math.min(search.found.length, MOST_LISTED);
  const last = functions - (rowOfValues().length > 0 ? 0 : 1);
  if (event.key === 'ArrowDown') search.chosen = Math.min(last, search.chosen + 1);
  else if (event.key === 'ArrowUp') search.chosen = Math.max(-1, search.chosen - 1);
  else if (event.key === 'Enter') {
    if (search.chosen >= 0 && search.chosen === functions) chooseValues();
    else if (search.chosen >= 0) chooseMatch(search.chosen);
    else stepMatch(event.shiftKey ? -1 : 1);
    closeList();
    event.preventDefault();
    return;
  } else if (event.key === 'Escape') {
    if (search.list.hidden) {
      search.input.value = '';
      change({ search: '' });
      search.input.blur();
    }
    closeList();
    event.stopPropagation();
    return;
  } else return;
  event.preventDefault();
  drawList();
}

/** Puts the cursor into the search. */
export function focusSearch() {
  search.input.focus();
  search.input.select();
}

/** Joins the search's elements. */
export function startSearch() {
  search.input = document.getElementById('search');
  search.list = document.getElementById('matches');
  search.input.value = state.search;
  search.input.addEventListener('input', () => {
    search.chosen = -1;
    change({ search: search.input.value });
    drawList();
  });
  search.input.addEventListener('keydown', onSearchKey);
  search.input.addEventListener('blur', closeList);
  document.getElementById('next').addEventListener('click', () => stepMatch(1));
  document.getElementById('previous').addEventListener('click', () => stepMatch(-1));
  onChange(['search'], updateMatches);
  updateMatches();
}

/** The names are there now: what matches is looked for again. */
export function searchAgain() {
  updateMatches();
}
