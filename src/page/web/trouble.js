/*
 * What went wrong, as a sentence at the top of the page.
 */
import { isAbort } from './source.js';

/** Shows an error at the top; what was given up on purpose is none. */
export function showTrouble(error) {
  if (isAbort(error)) return;
  const bar = document.getElementById('trouble');
  bar.hidden = false;
  bar.firstElementChild.textContent = error.message;
  if (error.kind === undefined) console.error(error);
}

/** Shows those errors at the top that concern all of the page: no server, no right token. */
export function showIfGeneral(error) {
  if (error.kind === 'gone' || error.kind === 'token') showTrouble(error);
}
