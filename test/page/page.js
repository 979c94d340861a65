/*
 * page.js URL SPOOR TRACE: the page of `spoor view` in Chromium, compared with what spoor prints.
 * URL is what `spoor view TRACE` printed. Prints a line for each test; the status is 1 if one fails.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chromium } from 'playwright-core';

const [url, spoor, trace] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'] });
const troubles = [];

function printed(...words) {
  return execFileSync(spoor, [...words, trace], { encoding: 'utf8', maxBuffer: 1 << 28 });
}
const json = (...words) => JSON.parse(printed(...words));
const report = (...words) => json('report', '--json', ...words);
/* Characters that turn the direction of text are not shown (format.js: plainText). */
const plain = (text) => text.replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');

function replayed() {
  return printed('replay', '--json').trim().split('\n').map((line) => JSON.parse(line));
}

async function open(address = url, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 }, colorScheme: 'light', ...options });
  page.on('pageerror', (error) => troubles.push(`${error.stack}`));
  page.on('dialog', (dialog) => troubles.push(`a dialog: ${dialog.message()}`));
  await page.goto(address);
  return page;
}

/* A page whose names and table are there. */
async function opened(address = url, options = {}) {
  const page = await open(address, options);
  await page.waitForSelector('html[data-ready]');
  await settled(page);
  return page;
}

/* Waits until requests are answered and drawn, and the panel is not busy. */
async function settled(page) {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await page.waitForFunction(async () => {
    const { loaded, loaderIsBusy } = await import('/loader.js');
    return !loaderIsBusy() && loaded.whole && !document.querySelector('[aria-busy]');
  });
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/* The rows of a table on the page that are in sight: [{heading: text}], and titles as `title`. */
async function rowsOf(page, id) {
  return page.$eval(`#${id}`, (root) => {
    const heads = [...root.querySelectorAll('th')].map((head) => head.textContent.replace(/ [▾▴]$/, ''));
    return [...root.querySelectorAll('tbody tr:not(.spacer)')].map((row) =>
      Object.fromEntries([...row.cells].flatMap((cell, i) =>
        [[heads[i], cell.textContent], [`${heads[i]} title`, cell.title]])));
  });
}

const exactNs = (title) => Number(title.replace(/[^0-9]/g, ''));
const number = (text) => Number(text.replace(/[^0-9]/g, ''));

function assertRows(shown, expected) {
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
const viewOf = (page) => page.evaluate(async () => (await import('/state.js')).state.view);
async function placeOf(page, { tid, depth, t_ns: time }) {
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
async function pixelAt(page, { x, y }) {
  return page.evaluate(([px, py]) => {
    const canvas = document.getElementById('lanes');
    const box = canvas.getBoundingClientRect();
    const scale = canvas.width / box.width;
    return [...canvas.getContext('2d').getImageData((px - box.left) * scale, (py - box.top) * scale, 1, 1).data]
      .slice(0, 3);
  }, [x, y]);
}

const colourOf = (page, module, name, theme) => page.evaluate(async ([m, n, t]) =>
  (await import('/colours.js')).colourOfName(m, n, t), [module, name, theme]);

/* Entry and exit of the only call of a function. */
function onlyCall(name) {
  const events = replayed().filter((event) => event.function === name);
  return [events.find((event) => event.kind === 'entry'), events.find((event) => event.kind === 'exit')];
}

const workerTid = () =>
  json('info', '--json').thread_list.find((thread) => thread.name === 'worker two').tid;

const tests = {
  async 'the table of functions equals report --json'() {
    const page = await opened(url, { viewport: { width: 1280, height: 1600 } });
    assertRows(await rowsOf(page, 'functions-table'), report());
    await page.close();
  },

  async 'a dragged range is the range of the table'() {
    const page = await opened(url, { viewport: { width: 1280, height: 1600 } });
    const box = await page.locator('#over').boundingBox();
    await page.mouse.move(box.x + 300, box.y + 30);
    await page.mouse.down();
    await page.mouse.move(box.x + 700, box.y + 60, { steps: 3 });
    await page.mouse.up();
    await settled(page);
    const range = await page.evaluate(async () => (await import('/state.js')).state.range);
    assertRows(await rowsOf(page, 'functions-table'),
      report('--since', `${range.since}ns`, '--until', `${range.until}ns`));
    await page.keyboard.press('Escape');
    await settled(page);
    assertRows(await rowsOf(page, 'functions-table'), report());
    await page.close();
  },

  async 'a thread filter holds for the table too'() {
    const page = await opened(url, { viewport: { width: 1280, height: 1600 } });
    await page.fill('#threads', 'worker two');
    await settled(page);
    assertRows(await rowsOf(page, 'functions-table'), report('--tid', String(workerTid())));
    assert.equal(await page.locator('.lane').count(), 1);
    await page.close();
  },

  async 'a click on a box tells the call exactly'() {
    const page = await opened();
    const [entry, exit] = onlyCall('long_one');
    const middle = await placeOf(page, { ...entry, t_ns: entry.t_ns + exit.duration_ns / 2 });
    await page.mouse.move(middle.x, middle.y);
    await page.waitForSelector('#tip:not([hidden])');
    assert.match(await page.textContent('#tip'), /^long_one/);
    await page.mouse.click(middle.x, middle.y);
    const self = report().find((row) => row.function === 'long_one').self_ns;
    await page.waitForFunction(() => /called by/.test(document.getElementById('status').textContent));
    const status = await page.textContent('#status');
    const exact = [...status.matchAll(/([0-9\u202f]+) ns/g)].map((match) => number(match[1]));
    assert.ok(exact.includes(exit.duration_ns), `${status}: no ${exit.duration_ns}`);
    assert.ok(exact.includes(entry.t_ns), `${status}: no ${entry.t_ns}`);
    assert.ok(exact.includes(self) || status.includes(' us,'), `${status}: no ${self}`);
    assert.match(status, /called by main/);
    await page.mouse.dblclick(middle.x, middle.y);
    await settled(page);
    const view = await viewOf(page);
    assert.ok(view.since < entry.t_ns && view.until > exit.t_ns);
    assert.ok(view.until - view.since < 2 * exit.duration_ns, 'a double click zooms');
    await page.close();
  },

  async 'boxes have their colours, in both themes'() {
    for (const theme of ['light', 'dark']) {
      const page = await opened(url, { colorScheme: theme });
      const [entry, exit] = onlyCall('long_one');
      const place = await placeOf(page, { ...entry, t_ns: entry.t_ns + exit.duration_ns * 0.9 });
      assert.deepEqual(await pixelAt(page, place), await colourOf(page, 'hostile', 'long_one', theme));
      const [main] = onlyCall('main');
      const beside = await placeOf(page, { tid: workerTid(), depth: 0, t_ns: main.t_ns });
      const ground = await pixelAt(page, beside);
      assert.ok(theme === 'light' ? ground.every((part) => part > 200) : ground.every((part) => part < 60));
      await page.keyboard.press('t');
      await settled(page);
      const other = theme === 'light' ? 'dark' : 'light';
      assert.deepEqual(await pixelAt(page, place), await colourOf(page, 'hostile', 'long_one', other));
      await page.close();
    }
  },

  async 'every call has a pixel'() {
    const page = await opened();
    const view = await viewOf(page);
    const entries = replayed().filter((event) => event.kind === 'entry' && event.t_ns > view.since &&
      event.t_ns < view.until);
    const places = await page.evaluate(async (calls) => {
      const { timeline, xOfTime } = await import('/timeline.js');
      const { model } = await import('/model.js');
      const canvas = document.getElementById('lanes');
      const scale = canvas.width / timeline.width;
      const image = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      const laneOf = new Map(model.trace.threads.map((thread) => [thread.tid,
        timeline.lanes.find((lane) => lane.kind === 'thread' && lane.stream === thread.stream)]));
      const isGround = (x, y) => [0, 1, 2].every((part) => image.data[4 * (y * canvas.width + x) + part] > 250);
      return calls.filter(({ tid, depth, t_ns: time }) => {
        const lane = laneOf.get(tid);
        const y = Math.round((lane.top - timeline.parts.scroll.scrollTop + (depth + 0.3) * lane.rowHeight) * scale);
        const x = Math.floor(xOfTime(time) * scale);
        if (y >= canvas.height || x < 1 || x >= canvas.width - 1) return false;
        return [x - 1, x, x + 1].every((near) => isGround(near, y));
      });
    }, entries);
    assert.deepEqual(places, []);
    await page.close();
  },

  async 'hostile names are shown as text'() {
    const page = await opened(url, { viewport: { width: 1280, height: 1600 } });
    const names = (await rowsOf(page, 'functions-table')).map((row) => row.function);
    for (const part of ['<img src=x', 'say "it\'s"', 'two?lines', 'bad \ufffd']) {
      assert.ok(names.some((name) => name.startsWith(part)), `no ${part}`);
    }
    assert.ok(names.every((name) => !/[\u202a-\u202e]/.test(name)));
    for (const key of ['2', '3', '4', '5', '6']) {
      await page.keyboard.press(key);
      await settled(page);
    }
    await page.keyboard.press('/');
    await page.keyboard.type('<img');
    await page.keyboard.press('Enter');
    await settled(page);
    assert.equal(await page.locator('img, b img, #names b').count(), 0);
    assert.equal(await page.evaluate(() => window.harm), undefined);
    assert.ok((await page.textContent('#names')).includes('<b>bold</b>'));
    await page.close();
  },

  async 'a wrong token is told in words'() {
    const page = await open(url.replace(/#.*/, `#${'0'.repeat(32)}`));
    await page.waitForSelector('#trouble:not([hidden])');
    assert.match(await page.textContent('#trouble'), /token.*missing or wrong/);
    await page.close();
  },

  async 'all by keyboard'() {
    const page = await opened();
    await page.keyboard.press('/');
    await page.keyboard.type('recurs');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForFunction(async () => (await import('/state.js')).state.call !== null);
    await settled(page);
    const starts = replayed().filter((event) => event.kind === 'entry' && event.function === 'recursive')
      .map((event) => event.t_ns).sort((a, b) => a - b);
    const callOf = () => page.evaluate(async () => (await import('/state.js')).state.call);
    assert.equal((await callOf()).start, starts[0]);
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('n');
    await page.waitForFunction(async (start) => (await import('/state.js')).state.call.start === start, starts[1]);
    await page.keyboard.press('z');
    await settled(page);
    const inner = await callOf();
    await page.keyboard.press('ArrowUp');
    assert.equal((await callOf()).depth, inner.depth - 1);
    await page.keyboard.press('ArrowDown');
    assert.equal((await callOf()).depth, inner.depth);
    await page.keyboard.press('m');
    const range = await page.evaluate(async () => (await import('/state.js')).state.range);
    const call = await callOf();
    assert.deepEqual(range, { since: call.start, until: Math.max(call.end, call.start + 1) });
    await page.keyboard.press('?');
    assert.ok(await page.isVisible('#help'));
    await page.keyboard.press('Escape');
    assert.ok(!await page.isVisible('#help'));
    for (const [key, id] of [['2', 'flame'], ['7', 'compare'], ['1', 'functions']]) {
      await page.keyboard.press(key);
      assert.equal(await page.getAttribute(`#tab-${id}`, 'aria-selected'), 'true');
    }
    const before = await viewOf(page);
    for (const key of ['s', 'd', 'w', 'a', '0']) await page.keyboard.press(key);
    assert.notDeepEqual(await viewOf(page), before);
    await page.close();
  },

  async 'focus is seen and reaches all parts'() {
    const page = await opened();
    const reached = new Set();
    for (let i = 0; i < 60; i++) {
      await page.keyboard.press('Tab');
      const at = await page.evaluate(() => {
        const focused = document.activeElement;
        return { id: focused.id, outline: getComputedStyle(focused).outlineStyle };
      });
      if (at.id) {
        reached.add(at.id);
        assert.notEqual(at.outline, 'none', `${at.id}: the focus is not seen`);
      }
    }
    for (const id of ['hide', 'search', 'threads', 'scroll', 'splitter', 'tab-functions', 'functions-filter',
      'functions-table']) assert.ok(reached.has(id), `Tab does not reach ${id}`);
    await page.close();
  },

  async 'tables have labels, and are sorted by each column'() {
    const page = await opened();
    assert.ok((await page.textContent('#functions-table caption')).length > 10);
    const heads = page.locator('#functions-table th');
    for (let i = 0; i < await heads.count(); i++) {
      await heads.nth(i).locator('button').click();
      const first = await heads.nth(i).getAttribute('aria-sort');
      await heads.nth(i).locator('button').click();
      const second = await heads.nth(i).getAttribute('aria-sort');
      assert.deepEqual([first, second].sort(), ['ascending', 'descending']);
    }
    await page.click('#functions-table th:nth-child(2) button');
    const calls = (await rowsOf(page, 'functions-table')).map((row) => number(row.calls));
    assert.deepEqual(calls, [...calls].sort((a, b) => b - a));
    await page.fill('#functions-filter', 'recurs');
    assert.deepEqual((await rowsOf(page, 'functions-table')).map((row) => row.function), ['recursive']);
    await page.close();
  },

  async 'a row opens the durations and the calls'() {
    const page = await opened();
    await page.fill('#functions-filter', 'recursive');
    await page.click('#functions-table tbody tr');
    await settled(page);
    const bars = await page.$$eval('.histogram button:not(.none)', (all) => all.map((bar) => bar.title));
    const known = report().find((row) => row.function === 'recursive');
    assert.equal(bars.reduce((sum, title) => sum + number(/: (.*) call/.exec(title)[1]), 0), known.calls);
    const rows = await rowsOf(page, 'calls-table');
    assert.equal(exactNs(rows[0]['duration title']), known.max_ns);
    await page.locator('.histogram button:not(.none)').last().click();
    await settled(page);
    const slow = await rowsOf(page, 'calls-table');
    assert.equal(slow.length, Math.min(slow.length, number(/: (.*) call/.exec(bars[bars.length - 1])[1])));
    await page.click('#calls-table tbody tr');
    const call = await page.evaluate(async () => (await import('/state.js')).state.call);
    assert.equal(call.end - call.start, known.max_ns);
    await page.close();
  },

  async 'pictures equal graph --json'() {
    const page = await opened();
    const top = json('graph', '--json');
    const worker = top.children.find((child) => child.name === 'worker');
    await page.keyboard.press('2');
    await settled(page);
    await page.focus('#flame-picture');
    await page.keyboard.press('ArrowDown');
    const sorted = [...top.children].sort((a, b) => b.total_ns - a.total_ns);
    assert.ok((await page.textContent('#status')).startsWith(sorted[0].name));
    const tree = await page.evaluate(async () => {
      const { graph } = await import('/graph.js');
      const { callersTree, calleesTree, bottomUpTree } = await import('/paths.js');
      const { model } = await import('/model.js');
      const leaf = [...model.functions.values()].find((one) => one.name === 'leaf').number;
      const own = [...model.functions.values()].find((one) => one.name === 'recursive').number;
      graph.all = true;
      const { graphOfRange } = await import('/graph.js');
      const { top: all } = await graphOfRange(new AbortController().signal);
      const short = (node) => [node.name, node.calls, node.total];
      return { total: all.total, callers: callersTree(all, leaf).children.map(short),
        recursive: callersTree(all, own).children.map(short),
        callees: calleesTree(all, own).children.map(short),
        bottom: bottomUpTree(all).children.map((node) => [node.name, node.calls, node.total]) };
    });
    assert.equal(tree.total, top.total_ns);
    assert.ok(worker);
    const row = (name) => report().find((one) => one.function === name);
    assert.deepEqual(tree.callers, [['leaf', row('leaf').calls, row('leaf').total_ns]]);
    assert.deepEqual(tree.recursive, [['recursive', row('recursive').calls, row('recursive').total_ns]]);
    assert.equal(tree.callees[0][2], row('recursive').total_ns);
    const byName = new Map(tree.bottom.map(([name, calls, self]) => [name, [calls, self]]));
    for (const one of report()) assert.deepEqual(byName.get(plain(one.function)), [one.calls, one.self_ns]);
    await page.close();
  },

  async 'frames of a function are its calls'() {
    const page = await opened();
    await page.fill('#functions-filter', 'many');
    await page.click('#functions-table tbody tr');
    await settled(page);
    await page.click('#frames');
    await settled(page);
    const frames = await page.evaluate(async () => (await import('/loader.js')).loaded.frames.count);
    assert.equal(frames, report().find((row) => row.function === 'many').calls);
    assert.match(await page.textContent('#names'), /frames of many/);
    await page.close();
  },

  async 'two ranges are compared by function and by path'() {
    const page = await opened();
    const { since, until } = await viewOf(page);
    const middle = Math.round((since + until) / 2);
    const ranges = [{ since: Math.round(since), until: middle }, { since: middle, until: Math.round(until) }];
    await page.evaluate(async ([a, b]) => {
      (await import('/state.js')).change({ rangeA: a, rangeB: b, tab: 'compare' });
    }, ranges);
    await settled(page);
    const [before, after] = ranges.map((range) => new Map(
      report('--since', `${range.since}ns`, '--until', `${range.until}ns`).map((row) => [plain(row.function), row])));
    const rows = await rowsOf(page, 'compare-table');
    assert.ok(rows.length > 3);
    for (const row of rows) {
      assert.equal(number(row['calls A']) || 0, before.get(row.function)?.calls ?? 0, row.function);
      assert.equal(number(row['calls B']) || 0, after.get(row.function)?.calls ?? 0, row.function);
    }
    await page.click('[data-by=path]');
    await settled(page);
    const paths = await rowsOf(page, 'compare-paths');
    assert.ok(paths.length > 3);
    await page.close();
  },

  async 'a link keeps the view'() {
    const page = await opened();
    await page.keyboard.press('w');
    await page.keyboard.press('v');
    await page.keyboard.press('3');
    await page.fill('#search', 'leaf');
    await page.waitForTimeout(400);
    const state = () => page.evaluate(async () => {
      const { state: now, fragmentOf } = await import('/state.js');
      return { fragment: fragmentOf(), tab: now.tab, range: now.range, search: now.search };
    });
    const before = await state();
    const address = page.url();
    assert.ok(!address.split('#')[0].includes('t='), 'the state is in the fragment');
    await page.goto('about:blank');
    await page.goto(address);
    await page.waitForSelector('html[data-ready]');
    await settled(page);
    assert.deepEqual(await state(), before);
    await page.close();
  },

  async '1280 by 720 shows data on four fifths of the width'() {
    const page = await opened();
    const sizes = await page.evaluate(() => {
      const box = (id) => document.getElementById(id).getBoundingClientRect();
      const header = [...document.querySelectorAll('header > *')].map((one) => one.getBoundingClientRect())
        .filter((one) => one.width > 0);
      return {
        lanes: box('lanes').width, scroll: box('scroll').right, panel: box('panel').width,
        wide: document.documentElement.scrollWidth, high: document.documentElement.scrollHeight,
        overlap: header.some((one, i) => i > 0 && one.left < header[i - 1].right - 0.5),
        right: Math.max(...header.map((one) => one.right)), bottom: box('status').bottom,
      };
    });
    assert.ok(sizes.lanes >= 0.8 * 1280, `${sizes.lanes} pixels`);
    assert.ok(sizes.panel >= 0.8 * 1280);
    assert.deepEqual([sizes.wide, sizes.high], [1280, 720]);
    assert.ok(sizes.scroll <= 1280 && sizes.right <= 1280 && sizes.bottom <= 720);
    assert.ok(!sizes.overlap, 'parts of the bar overlap');
    await page.close();
  },

  async '100 000 rows scroll'() {
    const page = await open('about:blank');
    const one = report()[0];
    await page.addInitScript((like) => {
      const real = window.fetch;
      const rows = Array.from({ length: 100000 }, (_, i) => ({ ...like, function: `f${i}`, total_ns: i, number: 1 }));
      window.fetch = (path, options) => (path.startsWith('/api/functions')
        ? Promise.resolve({ ok: true, json: async () => rows }) : real(path, options));
    }, one);
    await page.goto(url);
    await page.waitForSelector('html[data-ready]');
    await settled(page);
    await page.focus('#functions-table');
    await page.keyboard.press('End');
    const shown = await rowsOf(page, 'functions-table');
    assert.equal(shown[shown.length - 1].function, 'f0');
    assert.ok(shown.length < 100);
    assert.ok(await page.locator('#functions-table tr.active').isVisible());
    await page.close();
  },

  async 'a server that is gone is told in words'() {
    const page = await opened();
    await page.context().setOffline(true);
    await page.keyboard.press('2');
    await page.waitForSelector('#trouble:not([hidden])');
    assert.match(await page.textContent('#trouble'), /spoor view (does not answer|has ended)/);
    await page.close();
  },
};

const wanted = process.env.ONLY;
let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  if (wanted && !name.includes(wanted)) continue;
  const began = performance.now();
  try {
    await test();
    assert.deepEqual(troubles.splice(0), [], 'errors in the page');
    console.log(`ok    ${name} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
  } catch (error) {
    failed++;
    console.log(`FAIL  ${name}\n${error.stack}`);
    for (const context of browser.contexts()) await context.close();
  }
}
await browser.close();
process.exitCode = failed ? 1 : 0;
