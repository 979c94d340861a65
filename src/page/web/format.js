/*
 * Numbers as text, and text as numbers. Times are nanoseconds everywhere else in the page.
 */

const UNITS = [['s', 1e9], ['ms', 1e6], ['us', 1e3], ['ns', 1]];

/** 1234567 as "1.235 ms": four digits, as the text views show times. */
export function formatNs(ns) {
  if (ns === null || ns === undefined || Number.isNaN(ns)) return '';
  const size = Math.abs(ns);
  if (size < 1e3) return `${Math.round(ns)} ns`;
  const [unit, scale] = UNITS.find((entry) => size >= entry[1]);
  const value = ns / scale;
  const digits = Math.max(0, 4 - String(Math.trunc(Math.abs(value))).length);
  return `${value.toFixed(digits)} ${unit}`;
}

/** 617705 as "617 705", with narrow spaces that do not break. */
export function formatCount(count) {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

/** "1 call", "617 705 calls". */
export function formatCalls(count) {
  return `${formatCount(count)} ${count === 1 ? 'call' : 'calls'}`;
}

/** A time with all digits, for tooltips: "1 234 567 ns". */
export function formatExact(ns) {
  return `${formatCount(ns)} ns`;
}

/** PART of ALL in percent: "12.3 %". Small parts keep one digit that counts. */
export function formatShare(part, all) {
  if (!(all > 0)) return '';
  const percent = 100 * part / all;
  if (percent === 0) return '0 %';
  if (percent < 0.01) return '< 0.01 %';
  return `${percent.toFixed(percent < 1 ? 2 : 1)} %`;
}

/** "1.5ms", "20 us", "300" (ns) or "2s" in ns; NaN if it is no time. */
export function parseNs(text) {
  const match = /^\s*([0-9]*\.?[0-9]+)\s*(ns|us|µs|ms|s|)\s*$/.exec(text);
  if (!match) return NaN;
  const unit = match[2] === 'µs' ? 'us' : match[2] || 'ns';
  return Number(match[1]) * UNITS.find((entry) => entry[0] === unit)[1];
}

/** A step of 1, 2 or 5 times a power of ten such that SPAN has about COUNT of them; at least 1 ns. */
export function niceStep(span, count) {
  const raw = Math.max(1, span / Math.max(1, count));
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= raw * 0.999);
  return step * power;
}

/** The time of a tick, with as many digits as STEP needs. */
export function formatTick(ns, step) {
  const [unit, scale] = UNITS.find((entry) => Math.max(Math.abs(ns), step) >= entry[1]) ?? UNITS[3];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / scale) - 1e-9));
  return `${(ns / scale).toFixed(digits)} ${unit}`;
}

/** TEXT without the characters that turn the direction of what stands beside them: names that hold
 * them could make a line say something else. Each becomes U+FFFD. */
export function plainText(text) {
  return String(text ?? '').replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
}

/** A new element with attributes and children; text stays text, whatever it holds. */
export function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}
