/*
 * What the tests of the page share: the browser, what spoor prints, and what the page shows.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chromium } from 'playwright-core';

export const [url, spoor, trace, file, valuedTrace, valuedFile, secretFile, valuedUrl] = process.argv.slice(2);
export const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'] });
export const troubles = [];

function printed(...words) {
  return printedOf(trace, ...words);
}
export function printedOf(recording, ...words) {
  return execFileSync(spoor, [...words, recording], { encoding: 'utf8', maxBuffer: 1 << 28 });
}
export const json = (...words) => JSON.parse(printed(...words));
export const report = (...words) => json('report', '--json', ...words);
/* Characters that turn the direction of text are not shown (format.js: plainText). */
export const plain = (text) => text.replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');

export function replayed(recording = trace) {
  return printedOf(recording, 'replay', '--json').trim().split('\n').map((line) => JSON.parse(line));
}

export async function open(address = url, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 }, colorScheme: 'light', ...options });
  page.on('pageerror', (error) => troubles.push(`${error.stack}`));
  page.on('dialog', (dialog) => troubles.push(`a dialog: ${dialog.message()}`));
  await page.goto(address);
  return page;
}

/* A page whose names and table are there. */
export async function opened(address = url, options = {}) {
  const page = await open(address, options);
  await page.waitForSelector('html[data-ready]');
  await settled(page);
  return page;
}

/* Waits until WANTED(ARGUMENT) is true in the page; at most a minute. WANTED may be async:
 * waitForFunction() would take its promise for true. */
export async function until(page, wanted, argument) {
  const end = performance.now() + 60000;
  while (!await page.evaluate(wanted, argument)) {
    assert.ok(performance.now() < end, `a minute passed: ${wanted}`);
    await new Promise((done) => setTimeout(done, 20));
  }
}

/* Waits until requests are answered and drawn, and the panel is not busy. */
export async function settled(page) {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await until(page, async () => {
    const { loaded, loaderIsBusy } = await import('/loader.js');
    return !loaderIsBusy() && loaded.whole && !document.querySelector('[aria-busy]');
  });
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/* The address has the state that the page shows. */
export async function saved(page) {
  await settled(page);
  await until(page, async () => location.hash.endsWith(`&${(await import('/state.js')).fragmentOf()}`));
}

/* The rows of a table on the page that are in sight: [{heading: text}], and titles as `title`. */
export async function rowsOf(page, id) {
  return page.$eval(`#${id}`, (root) => {
    const heads = [...root.querySelectorAll('th')].map((head) => head.textContent.replace(/ [▾▴]$/, ''));
    return [...root.querySelectorAll('tbody tr:not(.spacer)')].map((row) =>
      Object.fromEntries([...row.cells].flatMap((cell, i) =>
        [[heads[i], cell.textContent], [`${heads[i]} title`, cell.title]])));
  });
}

export const exactNs = (title) => Number(title.replace(/[^0-9]/g, ''));
export const number = (text) => Number(text.replace(/[^0-9]/g, ''));

export function assertRows(shown, expected) {
  const byName = new Map(expected.map((row) => [plain(row.function), row]));
  assert.equal(shown.length, expected.length);
  for (const row of shown) {
    const known = byName.get(row.function);
    assert.ok(known, `${JSON.stringify(row.function)} is not in report --json`);
    assert.equal(number(row.calls), known.calls);
    for (const [heading, key] of [['total', 'total_ns'], ['self', 'self_ns'], ['average', 'avg_ns'],
      ['min', 'min_ns'], ['max', 'max_ns'], ['p50', 'p50_ns'], ['p99', 'p99_ns']]) {
      assert.equal(exactNs(row[`${heading} title`]), known[key], `${row.function}: ${heading}`);
    }
  }
}

/* The state of the page, and where a call of replay --json is on the screen. */
export const viewOf = (page) => page.evaluate(async () => (await import('/state.js')).state.view);
export async function placeOf(page, { tid, depth, t_ns: time }) {
  return page.evaluate(async ([tidOf, depthOf, timeOf]) => {
    const { timeline, xOfTime } = await import('/timeline.js');
    const { model } = await import('/model.js');
    const { stream } = model.trace.threads.find((thread) => thread.tid === tidOf);
    const lane = timeline.lanes.find((one) => one.kind === 'thread' && one.stream === stream);
    const box = timeline.parts.over.getBoundingClientRect();
    return { x: box.left + xOfTime(timeOf), stream,
      y: box.top + lane.top - timeline.parts.scroll.scrollTop + (depthOf + 0.5) * lane.rowHeight };
  }, [tid, depth, time]);
}

/* The pixel of the lanes' canvas at a place of the page. */
export async function pixelAt(page, { x, y }) {
  return page.evaluate(([px, py]) => {
    const canvas = document.getElementById('lanes');
    const box = canvas.getBoundingClientRect();
    const scale = canvas.width / box.width;
    return [...canvas.getContext('2d').getImageData((px - box.left) * scale, (py - box.top) * scale, 1, 1).data]
      .slice(0, 3);
  }, [x, y]);
}

export const colourOf = (page, module, name, theme) => page.evaluate(async ([m, n, t]) =>
  (await import('/colours.js')).colourOfName(m, n, t), [module, name, theme]);

/* Entry and exit of the only call of a function. */
export function onlyCall(name) {
  const events = replayed().filter((event) => event.function === name);
  return [events.find((event) => event.kind === 'entry'), events.find((event) => event.kind === 'exit')];
}
