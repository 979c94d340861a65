/*
 * What is known of the trace as a whole: its threads, and the names of its functions.
 */

import { plainText } from './format.js';

export const model = {
  source: null,       // source.js
  trace: null,        // the answer of /api/trace
  modules: [],        // names
  functions: new Map(),   // number to {number, name, module, file, line}
  byName: new Map(),  // "module\0name" to number; null if several functions are called so
  threads: new Map(), // stream to an entry of trace.threads
};

const nameKey = (module, name) => `${module}\0${name}`;

/** Takes over the answer of /api/trace. */
export function learnTrace(trace) {
  for (const one of [trace, ...trace.processes, ...trace.threads]) one.name = plainText(one.name);
  model.trace = trace;
  model.threads = new Map(trace.threads.map((thread) => [thread.stream, thread]));
}

/** Takes over the answer of /api/names. */
export function learnNames({ modules, functions }) {
  model.modules = modules.map(plainText);
  model.functions = new Map();
  model.byName = new Map();
  for (const [number, name, module, file, line] of functions) {
    const known = { number, name: plainText(name), module: model.modules[module] ?? '',
      file: file ? plainText(file) : null, line };
    model.functions.set(number, known);
    const key = nameKey(known.module, known.name);
    model.byName.set(key, model.byName.has(key) ? null : number);
  }
}

/** A function's name; functions that have none are "?". */
export function nameOf(number) {
  return model.functions.get(number)?.name ?? '?';
}

/** The name of a function's module. */
export function moduleOf(number) {
  return model.functions.get(number)?.module ?? '';
}

/** The file and line in which a function begins, or "" while that is not known. SHORT: without the
 * folders. */
export function placeOf(number, short) {
  const { file, line } = model.functions.get(number) ?? {};
  if (!file) return '';
  return `${short ? file.slice(file.lastIndexOf('/') + 1) : file}${line ? `:${line}` : ''}`;
}

/** The number of a table's row: its own, else that of the only function of this name, else null. */
export function numberOfRow(row) {
  const own = row.number ?? row.function_number;
  if (own !== undefined) return own;
  return model.byName.get(nameKey(row.module, row.function ?? row.name)) ?? null;
}

/** Rows of a table as they may be shown: their names are plain text. */
export function plainRows(rows) {
  for (const row of rows) {
    row.function = plainText(row.function);
    row.module = plainText(row.module);
  }
  return rows;
}

/** "name 4711" for a stream. */
export function threadText(stream) {
  const thread = model.threads.get(stream);
  return thread ? `${thread.name || 'thread'} ${thread.tid}` : `stream ${stream}`;
}

/** The functions whose name contains TEXT, the best matches first: equal, begins so, contains. */
export function functionsMatching(text, limit) {
  const wanted = text.toLowerCase();
  if (!wanted) return [];
  const groups = [[], [], []];
  for (const known of model.functions.values()) {
    const name = known.name.toLowerCase();
    const at = name.indexOf(wanted);
    if (at < 0) continue;
    groups[name === wanted ? 0 : at === 0 ? 1 : 2].push(known);
  }
  return groups.flat().slice(0, limit);
}
