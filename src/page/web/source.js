/*
 * Where the page's data come from: a server's /api, or answers that were recorded into this file
 * (spoor view --html). The rest of the page asks the one object that dataSource() returns and does
 * not know which of both it is.
 *
 * A source has
 *   embedded        null, or what a recorded file holds: {since, until, allThreads, threshold_ns};
 *                   calls shorter than threshold_ns are drawn together
 *   fetchJson(path, query, signal)        a promise of an object
 *   fetchAll(path)                        only of a recorded file: the answers for all functions
 *   fetchBinary(path, query, signal)      a promise of an ArrayBuffer
 *   follow(path, onObject)                calls onObject for each JSON line; resolves at the end
 * They reject with DataError, whose message is a sentence for the user.
 *
 * Recorded answers are elements with data-path="/api/NAME": JSON is in application/json, base64 of
 * a binary answer is in text/plain. /api/histogram and /api/calls are objects by function number.
 */

/** An answer that cannot be had. `kind`: "token", "gone", "refused", "unrecorded". */
export class DataError extends Error {
  constructor(kind, message) {
    super(message);
    this.kind = kind;
  }
}

/** True for the error of a request that was given up on purpose. */
export function isAbort(error) {
  return error instanceof DOMException && error.name === 'AbortError';
}

function queryString(query) {
  const parts = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null) parts.set(key, String(value));
  }
  const text = parts.toString();
  return text ? `?${text}` : '';
}

async function refusal(response) {
  let reason = '';
  try {
    reason = (await response.json()).error ?? '';
  } catch {
    reason = '';
  }
  if (response.status === 401 || (response.status === 403 && /token/i.test(reason))) {
    return new DataError('token', 'The token in this address is missing or wrong. ' +
      'Open the address that spoor view printed.');
  }
  return new DataError('refused', reason || `The server refuses this (status ${response.status}).`);
}

function httpSource(token) {
  async function request(path, query, signal) {
    let response;
    try {
      response = await fetch(path + queryString(query),
        { headers: { 'X-Spoor-Token': token }, signal, cache: 'no-store' });
    } catch (error) {
      if (isAbort(error)) throw error;
      throw new DataError('gone', 'spoor view does not answer any more. ' +
        'What was loaded stays here; start spoor view again for the rest.');
    }
    if (!response.ok) throw await refusal(response);
    return response;
  }
  async function follow(path, onObject) {
    const response = await request(path);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split('\n');
      rest = lines.pop();
      lines.filter((line) => line.trim()).forEach((line) => onObject(JSON.parse(line)));
    }
  }
  return {
    embedded: null,
    fetchJson: async (path, query, signal) => (await request(path, query, signal)).json(),
    fetchBinary: async (path, query, signal) => (await request(path, query, signal)).arrayBuffer(),
    follow,
  };
}

function bytesOfBase64(text) {
  const binary = atob(text.replace(/\s+/g, ''));
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes.buffer;
}

/* A recorded answer is that of the recorded range. Whoever shows it for another range must say so:
 * see `embedded`. */
function embeddedSource(description) {
  const embedded = {
    since: description.since_ns, until: description.until_ns, threshold_ns: description.threshold_ns ?? 0,
    allThreads: description.all_threads !== false,
  };
  const parsed = new Map();
  function element(path) {
    const found = document.querySelector(`script[data-path="${path}"]`);
    if (!found) throw new DataError('unrecorded', 'This file does not contain that.');
    return found;
  }
  function read(path, parse) {
    if (!parsed.has(path)) parsed.set(path, parse(element(path).textContent));
    return parsed.get(path);
  }
  async function fetchJson(path, query) {
    const all = read(path, JSON.parse);
    if (path !== '/api/histogram' && path !== '/api/calls') return all;
    const one = all[query.function];
    if (one === undefined) {
      throw new DataError('unrecorded', 'This file has no single calls of this function.');
    }
    return one;
  }
  return {
    embedded,
    fetchJson,
    fetchAll: async (path) => read(path, JSON.parse),
    fetchBinary: async (path) => read(path, bytesOfBase64),
    follow: async () => {},
  };
}

/** The page's source: recorded data if the document has them, else the server with TOKEN. */
export function dataSource(token) {
  const description = document.querySelector('script[data-path="embedded"]');
  return description ? embeddedSource(JSON.parse(description.textContent)) : httpSource(token);
}
