/*
 * What the user looks at: one object, changed only by change(). Listeners hear which keys changed.
 * The state is kept in the address's fragment, after the token, so that a link keeps the view.
 */

export const state = {
  view: { since: 0, until: 1 },   // what the timeline shows, ns
  range: null,                    // what tables and pictures are about; null: the whole trace
  rangeA: null, rangeB: null,     // the two ranges of a comparison
  compareBy: '',                  // "": by function; "path"
  compareOther: 0,                // 1: with the other trace
  tab: 'functions',
  function: null,                 // the number of the function that tabs are about
  call: null,                     // {stream, start, end, depth, function} that is selected
  search: '',
  hideBelow: 0,                   // calls shorter than this are not drawn, ns
  threads: '',                    // shows only threads whose name or number contains this
  pinned: new Set(),              // streams
  collapsed: new Set(),           // streams
  frames: null,                   // the function whose calls are the row "frames"
  rowHeight: 16,
  panelHeight: 0,                 // 0: as the style sheet says
  theme: '',                      // "": as the system; "light", "dark"
};

const listeners = [];
let saveTimer = 0;
let fragmentToken = '';

/** Calls HEAR after a change of one of KEYS. */
export function onChange(keys, hear) {
  listeners.push({ keys: new Set(keys), hear });
}

/** Changes some keys and tells the listeners. */
export function change(patch) {
  const changed = Object.keys(patch).filter((key) => patch[key] !== state[key]);
  Object.assign(state, patch);
  if (changed.length === 0) return;
  listeners.filter(({ keys }) => changed.some((key) => keys.has(key))).forEach(({ hear }) => hear());
  clearTimeout(saveTimer);
  saveTimer = setTimeout(saveFragment, 250);
}

const isTime = (value) => Number.isFinite(value);
const timesText = (range) => `${Math.round(range.since)}-${Math.round(range.until)}`;
const callText = (call) => [call.stream, call.start, call.end, call.depth, call.function].join(':');

function timesOf(text) {
  const [since, until] = (text ?? '').split('-').map(Number);
  return isTime(since) && isTime(until) && until > since ? { since, until } : null;
}

function callOf(text) {
  const [stream, start, end, depth, number] = text.split(':').map(Number);
  return [stream, start, end, depth, number].every(isTime)
    ? { stream, start, end, depth, function: number } : null;
}

const numbersOf = (text) => new Set(text.split(',').map(Number).filter(isTime));
const numberOf = (text) => (isTime(Number(text)) && text !== '' ? Number(text) : null);

/* How each key is written and read; a key that is not here is not kept. */
const KEPT = {
  view: ['t', timesText, (text) => timesOf(text) ?? state.view],
  range: ['r', timesText, timesOf],
  rangeA: ['a', timesText, timesOf],
  rangeB: ['b', timesText, timesOf],
  compareBy: ['by', String, (text) => (text === 'path' ? text : '')],
  compareOther: ['other', String, (text) => (text === '1' ? 1 : 0)],
  tab: ['tab', String, String],
  function: ['f', String, numberOf],
  call: ['call', callText, callOf],
  search: ['q', String, String],
  hideBelow: ['hide', String, (text) => numberOf(text) ?? 0],
  threads: ['threads', String, String],
  pinned: ['pin', (set) => [...set].join(','), numbersOf],
  collapsed: ['fold', (set) => [...set].join(','), numbersOf],
  frames: ['frames', String, numberOf],
  rowHeight: ['row', String, (text) => numberOf(text) ?? 16],
  theme: ['theme', String, String],
};

/** The state as a fragment, without the token. */
export function fragmentOf() {
  const parts = [];
  for (const [key, [name, write]] of Object.entries(KEPT)) {
    const value = state[key];
    if (value === null || value === '' || value === 0 || value.size === 0) continue;
    parts.push(`${name}=${encodeURIComponent(write(value))}`);
  }
  return parts.join('&');
}

function saveFragment() {
  try {
    history.replaceState(null, '', `#${fragmentToken}&${fragmentOf()}`);
  } catch {
    /* Browsers refuse many changes in a short time: the next one writes it. */
  }
}

/** Reads the token from the address. */
export function tokenOfFragment() {
  const first = location.hash.slice(1).split('&')[0];
  fragmentToken = first.includes('=') ? '' : first;
  return fragmentToken;
}

/** Reads all of the state from the address; what is damaged there keeps its default. */
export function stateOfFragment() {
  const found = {};
  const parts = location.hash.slice(1).split('&').filter((part) => part.includes('='));
  for (const part of parts) {
    const at = part.indexOf('=');
    const kept = Object.entries(KEPT).find(([, [name]]) => name === part.slice(0, at));
    if (!kept) continue;
    try {
      found[kept[0]] = kept[1][2](decodeURIComponent(part.slice(at + 1)));
    } catch {
      /* A broken escape. */
    }
  }
  return found;
}
