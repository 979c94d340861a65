/*
 * The colour of a function: the hue is its module's, lightness and a small turn of the hue are its
 * own. They come from the names, so that they are the same in every trace.
 */
import { model, nameOf, moduleOf } from './model.js';

/* Hues of modules, in degrees: easy to tell apart, and with dark text. */
const HUES = [28, 205, 150, 265, 345, 45, 185, 310, 120, 235, 12, 168];

/** `version` changes whenever colours may change. */
export const colours = { version: 0 };

const cache = { theme: '', packed: new Map(), css: new Map() };

/** FNV-1a of a text's UTF-16 units, 32 bits. */
export function hashText(text) {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}

const systemIsDark = matchMedia('(prefers-color-scheme: dark)');

/** The theme in force: "light" or "dark". */
export function themeInForce() {
  return document.documentElement.dataset.theme || (systemIsDark.matches ? 'dark' : 'light');
}

/** [red, green, blue] of a function name in THEME. */
export function colourOfName(module, name, theme) {
  const own = hashText(name);
  const hue = (HUES[hashText(module) % HUES.length] + (own % 53) - 26 + 360) % 360;
  const dark = theme === 'dark';
  const lightness = (dark ? 50 : 62) + ((own >>> 8) % 15);
  const saturation = (dark ? 42 : 58) + ((own >>> 16) % 23);
  return rgbOfHsl(hue, saturation / 100, lightness / 100);
}

function rgbOfHsl(hue, saturation, lightness) {
  const spread = saturation * Math.min(lightness, 1 - lightness);
  const channel = (n) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (lightness - spread * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}

function freshCache() {
  const theme = themeInForce();
  if (cache.theme === theme) return theme;
  cache.theme = theme;
  cache.packed.clear();
  cache.css.clear();
  return theme;
}

/** Forgets all colours: the names or the theme are others. */
export function forgetColours() {
  colours.version++;
  cache.theme = '';
  cache.packed.clear();
  cache.css.clear();
}

/** A function's colour as one pixel of a canvas: 0xAABBGGRR. */
export function packedColour(number) {
  const known = cache.packed.get(number);
  if (known !== undefined) return known;
  const [red, green, blue] = colourOfName(moduleOf(number), nameOf(number), freshCache());
  const packed = (0xff000000 | blue << 16 | green << 8 | red) >>> 0;
  if (model.functions.size > 0) cache.packed.set(number, packed);
  return packed;
}

/** The colour of a name that may have no number. */
export function cssColour(module, name) {
  const theme = freshCache();
  const key = `${module}\0${name}`;
  if (!cache.css.has(key)) cache.css.set(key, `rgb(${colourOfName(module, name, theme).join(' ')})`);
  return cache.css.get(key);
}

/** COLOUR nearer to BACKGROUND, both packed: `share` of the colour stays. */
export function fadeColour(colour, background, share) {
  const mix = (shift) => {
    const own = (colour >>> shift) & 255;
    const other = (background >>> shift) & 255;
    return Math.round(other + (own - other) * share) << shift;
  };
  return (0xff000000 | mix(16) | mix(8) | mix(0)) >>> 0;
}

const variables = { theme: '', values: new Map() };

/** A colour of the style sheet, such as "--ink". */
export function styleColour(name) {
  const theme = themeInForce();
  if (variables.theme !== theme) {
    variables.theme = theme;
    variables.values.clear();
  }
  if (!variables.values.has(name)) {
    const style = getComputedStyle(document.documentElement);
    variables.values.set(name, style.getPropertyValue(name).trim());
  }
  return variables.values.get(name);
}

/** A colour of the style sheet, written #rrggbb there, as one pixel. */
export function packedStyleColour(name) {
  const value = parseInt(styleColour(name).slice(1), 16);
  return (0xff000000 | (value & 255) << 16 | (value & 0xff00) | value >>> 16) >>> 0;
}
