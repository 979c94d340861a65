/*
 * Starts the page: finds the data, shows the first picture, and joins the parts.
 */
import { dataSource } from './source.js';
import { state, change, onChange, tokenOfFragment, stateOfFragment } from './state.js';
import { model, learnTrace, learnNames } from './model.js';
import { forgetColours } from './colours.js';
import { startTimeline, relayout, redraw, timeline } from './timeline.js';
import { startLoader, loadDensity, loadWhole, loaded } from './loader.js';
import { startPointer } from './pointer.js';
import { startCallInfo } from './callinfo.js';
import { fittingRowHeight } from './lanes.js';
import { formatNs, formatCount } from './format.js';

const byName = (id) => document.getElementById(id);

function showTrouble(error) {
  console.error(error);
  byName('trouble').hidden = false;
  byName('trouble').firstElementChild.textContent = error.message;
}

async function start() {
  model.source = dataSource(tokenOfFragment());
  learnTrace(await model.source.fetchJson('/api/trace'));
  const kept = stateOfFragment();
  change({ view: { since: 0, until: model.trace.duration_ns }, ...kept });
  startTimeline();
  startLoader(() => relayout(), showTrouble);
  startPointer();
  startCallInfo();
  loadDensity(1000);
  model.source.fetchJson('/api/names').then((names) => { learnNames(names); forgetColours(); redraw(); });
  await loadWhole(timeline.painter.canvas.width, false);
}
start().catch(showTrouble);
