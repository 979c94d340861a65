/*
 * The small box beside the pointer.
 */
import { element } from './format.js';

/** Shows LINES, the first one bold, beside the pointer of EVENT. Lines that are empty are left out. */
export function showTip(event, lines) {
  const tip = document.getElementById('tip');
  const [first, ...rest] = lines.filter((line) => line);
  tip.replaceChildren(element('b', {}, first ?? ''), ...rest.map((line) => element('div', {}, line)));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, innerWidth - box.width - 6);
  const below = event.clientY + 18;
  const top = below + box.height > innerHeight ? event.clientY - box.height - 10 : below;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, top)}px`;
}

/** Takes it away. */
export function hideTip() {
  document.getElementById('tip').hidden = true;
}
