/*
 * Tests of the page: tables, pictures, comparison, links, sizes, the page in one file.
 */
import assert from 'node:assert/strict';
import { url, file, browser, troubles, json, report, plain, open, opened, settled, saved, rowsOf,
  exactNs, number, assertRows, viewOf, onlyCall } from './shown.js';

export const panelTests = {
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

  async 'source files and lines follow in the table'() {
    const page = await open('about:blank');
    await page.addInitScript(() => {
      const real = window.fetch;
      window.fetch = async (path, options) => {
        const response = await real(path, options);
        if (!path.startsWith('/api/names') || !path.includes('lines=1')) return response;
        const answer = await response.json();
        for (const row of answer.functions) {
          if (row[1] === 'leaf') row.splice(3, 2, '/folder/<b>of</b>/tree.c', 17);
        }
        return { ok: true, json: async () => answer };
      };
    });
    await page.goto(url);
    await page.waitForSelector('html[data-ready]');
    await page.waitForFunction(() => document.querySelector('#functions-table')?.textContent.includes('tree.c:17'));
    await settled(page);
    const row = (await rowsOf(page, 'functions-table')).find((one) => one.function === 'leaf');
    assert.deepEqual([row.source, row['source title']], ['tree.c:17', '/folder/<b>of</b>/tree.c:17']);
    assert.equal(row['function title'], 'leaf\n/folder/<b>of</b>/tree.c:17');
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

  async 'an estimate is drawn and told, and the exact picture takes its place'() {
    const page = await open('about:blank');
    const top = json('graph', '--json');
    await page.addInitScript(() => {
      const real = window.fetch;
      window.asked = [];
      window.fetch = (path, options) => {
        if (!path.startsWith('/api/graph')) return real(path, options);
        window.asked.push(path);
        if (path.includes('quick=1')) {
          const calls = { calls: 1, total_ns: 70, self_ns: 70, module: 'hostile', children: [] };
          const answer = { name: 'top', share: 0.25, total_ns: 100, children: [{ ...calls, name: 'worker' },
            { ...calls, name: 'main', total_ns: 30 }] };
          return Promise.resolve({ ok: true, json: async () => answer });
        }
        return new Promise((done, fail) => {
          window.goOn = () => done(real(path, options));
          options.signal.addEventListener('abort', () => {
            window.aborted = true;
            fail(new DOMException('given up', 'AbortError'));
          });
        });
      };
    });
    await page.goto(`${url}&tab=flame`);
    const note = page.locator('[role=tabpanel] .note[role=status]');
    await page.waitForFunction(() => /an estimate from 25.0 % of the events/.test(
      document.querySelector('#page [role=status]')?.textContent));
    const drawn = await page.evaluate(() => {
      const canvas = document.querySelector('#flame-picture canvas');
      return [...canvas.getContext('2d').getImageData(Math.floor(canvas.width / 2), 12, 1, 1).data].slice(0, 3);
    });
    assert.ok(Math.max(...drawn) - Math.min(...drawn) > 30, `the estimate is not drawn: ${drawn}`);
    const exactIsAsked = (ranged) => page.waitForFunction((wanted) => {
      const last = window.asked.at(-1);
      return !last.includes('quick=1') && last.includes('since=') === wanted;
    }, ranged);
    await page.keyboard.press('v'); // a range: what was asked for is given up
    await page.waitForFunction(() => window.aborted);
    await exactIsAsked(true); // the page asks a moment after the key
    await page.keyboard.press('Escape');
    await exactIsAsked(false);
    await page.evaluate(() => window.goOn());
    await settled(page);
    assert.match(await note.textContent(), /^counted, not sampled/);
    const total = await page.evaluate(async () => (await import('/graph.js')).graph.tree.top.total);
    assert.equal(total, top.total_ns);
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
    const wanted = await page.evaluate(async ([a, b]) => {
      const { model } = await import('/model.js');
      return model.source.fetchJson('/api/diff', { since: a.since, until: a.until, since2: b.since, until2: b.until, paths: 1 });
    }, ranges);
    assert.ok(wanted.some((row) => row.only));
    for (const row of paths) {
      const known = wanted.find((one) => plain(one.path.join(' › ')) === row['path title'].replace(/\0/g, ''));
      assert.ok(known, row['path title']);
      assert.equal(number(row['calls A']) || 0, known.calls[0]);
      assert.equal(number(row['calls B']) || 0, known.calls[1]);
      const lone = { old: 'only in A', new: 'only in B' }[known.only];
      assert.equal(/^only/.test(row.change) ? row.change : undefined, lone);
      if (lone) assert.equal(row[known.only === 'new' ? 'total A' : 'total B'], '—');
      for (const key of ['p50', 'p99']) assert.ok(row[`${key} A`] && row[`${key} B`], key);
    }
    await saved(page);
    const address = page.url();
    assert.match(address, /&by=path/);
    await page.goto('about:blank');
    await page.goto(address);
    await page.waitForSelector('html[data-ready]');
    await settled(page);
    assert.deepEqual(await rowsOf(page, 'compare-paths'), paths);
    await page.close();
  },

  async 'the trace compared with itself is all zero'() {
    const page = await opened();
    await page.keyboard.press('7');
    await page.click('#other');
    await settled(page);
    const rows = await rowsOf(page, 'compare-table');
    assert.equal(number(rows[0]['calls A']), number(rows[0]['calls B']));
    await page.click('[data-by=path]');
    await settled(page);
    for (const row of [...rows, ...await rowsOf(page, 'compare-paths')]) {
      assert.deepEqual([row['total B−A'], row['self B−A']], ['0 ns', '0 ns'], row.function ?? row.path);
    }
    assert.ok(rows.length > 3);
    await page.close();
  },

  async 'a link keeps the view'() {
    const page = await opened();
    await page.keyboard.press('w');
    await page.keyboard.press('v');
    await page.keyboard.press('3');
    await page.fill('#search', 'leaf');
    await saved(page);
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

  async 'the page in one file has the same numbers'() {
    const requests = [];
    const page = await browser.newPage({ viewport: { width: 1280, height: 1600 } });
    page.on('pageerror', (error) => troubles.push(`${error.stack}`));
    page.on('request', (request) => requests.push(request.url()));
    await page.goto(`file://${file}`);
    await page.waitForSelector('html[data-ready]');
    await page.waitForSelector('#functions-table tbody tr:nth-child(5)');
    assertRows(await rowsOf(page, 'functions-table'), report());
    assert.equal(await page.evaluate(() => window.harm), undefined);
    await page.keyboard.press('/');
    await page.keyboard.type('long_one');
    await page.keyboard.press('Enter');
    const [entry] = onlyCall('long_one');
    await page.waitForFunction(() => /long_one at/.test(document.getElementById('status').textContent));
    await page.waitForFunction((start) => decodeURIComponent(location.hash).includes(`:${start}:`), entry.t_ns);
    assert.deepEqual(requests.filter((one) => !one.startsWith('file:') && !one.startsWith('data:')), []);
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
