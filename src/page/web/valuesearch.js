/*
 * The search for a text in values: steps from call to call, in the order in which the values were
 * recorded: arguments when a call began, results when it ended.
 */
import { state } from './state.js';
import { model, nameOf, threadText } from './model.js';
import { showCall, showView } from './timeline.js';
import { selectEntry, tell } from './callinfo.js';
import { findValue } from './values.js';
import { formatNs } from './format.js';
import { isAbort } from './source.js';
import { showIfGeneral } from './trouble.js';

const stepping = { controller: null, last: null };

/* Where the next step begins: at what was found last, if its call is still selected. */
function startOfStep(direction) {
  const { call, view } = state;
  if (call && stepping.last?.key === keyOfSelected()) return stepping.last.at + direction;
  if (call) return Math.floor(call.start) + (direction > 0 ? 0 : -1);
  return direction > 0 ? Math.floor(view.since) : Math.ceil(view.until);
}

const keyOfSelected = () => JSON.stringify([state.call, state.search]);

function showFound(found) {
  const { stream, at_ns: at, call } = found;
  if (call) {
    selectEntry(found.function, call);
    showCall(state.call, false);
  } else {
    const half = (state.view.until - state.view.since) / 2;
    showView(at - half, at + half);
  }
  stepping.last = { key: keyOfSelected(), at };
  tell(`${nameOf(found.function)} at ${formatNs(at)} in ${threadText(stream)}`);
}

const isSelected = ({ call }) => call && state.call && call.stream === state.call.stream &&
  call.t_ns === state.call.start && call.depth === state.call.depth;

/* The next value, from FROM on, of another call than the selected one. */
async function findOther(text, from, direction, signal) {
  const end = model.trace.duration_ns;
  for (let at = from; at >= 0 && at <= end;) {
    const span = direction > 0 ? { since: at, until: end } : { since: 0, until: at };
    const found = await findValue(text, span, direction, signal,
      (share) => tell(`Looking for “${text}” in values: ${share} of the recording …`));
    if (!found || !isSelected(found)) return found;
    at = found.at_ns + direction;
  }
  return null;
}

/** Selects the next (1) or previous (-1) call with a value that contains TEXT. */
export async function stepValue(text, direction) {
  if (!text) {
    tell('Which text? "=" and then the text is looked for in values.');
    return;
  }
  stepping.controller?.abort();
  stepping.controller = new AbortController();
  const { duration_ns: end } = model.trace;
  const from = Math.max(0, Math.min(end, startOfStep(direction)));
  try {
    const found = await findOther(text, from, direction, stepping.controller.signal);
    if (found) showFound(found);
    else tell(`No ${direction > 0 ? 'later' : 'earlier'} value contains “${text}”.`);
  } catch (error) {
    if (isAbort(error)) return;
    tell(error.message);
    showIfGeneral(error);
  }
}
