/*
 * Tests of the page: timeline, range, names, token, keys.
 */
import assert from 'node:assert/strict';
import { url, valuedUrl, json, report, replayed, open, opened, settled, rowsOf, number, assertRows,
  viewOf, placeOf, pixelAt, colourOf, onlyCall, until } from './shown.js';

const workerTid = () =>
  json('info', '--json').thread_list.find((thread) => thread.name === 'worker two').tid;

export const timelineTests = {
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
    await until(page, async () => (await import('/state.js')).state.call !== null);
    await settled(page);
    const starts = replayed().filter((event) => event.kind === 'entry' && event.function === 'recursive')
      .map((event) => event.t_ns).sort((a, b) => a - b);
    const callOf = () => page.evaluate(async () => (await import('/state.js')).state.call);
    assert.equal((await callOf()).start, starts[0]);
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('n');
    await until(page, async (start) => (await import('/state.js')).state.call.start === start, starts[1]);
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

  async 'marks are reached by keys'() {
    const page = await opened();
    await page.keyboard.press('0');
    await page.keyboard.press('X');
    await page.waitForFunction(() => /^pause of the recording/.test(document.getElementById('status').textContent));
    const pause = replayed().find((event) => event.kind === 'pause');
    const view = await viewOf(page);
    assert.ok(view.since <= pause.t_ns && view.until >= pause.t_ns);
    await page.close();
  },

  async 'marks of probes have their values, and those without a thread are in all lanes'() {
    const page = await open('about:blank');
    await page.addInitScript(() => {
      const real = window.fetch;
      window.asked = [];
      window.fetch = async (path, options) => {
        if (!path.startsWith('/api/marks')) return real(path, options);
        window.asked.push(path);
        const at = { length_ns: 0, marks: 1 };
        const all = [{ ...at, stream: null, t_ns: 2000000, kind: 'change', text: 'paused for 1 ms' },
          { ...at, stream: 0, t_ns: 3000000, kind: 'usdt', text: '<b>demo</b>:turn',
            ...(path.includes('values=1') ? { args: 'arg1=<img src=x onerror=window.harm=1>' } : {}) },
          { ...at, stream: 0, t_ns: 4000000, kind: 'usdt', text: 'demo:turn', marks: 12 },
          { ...at, stream: null, pid: 1, t_ns: 5000000, kind: 'change', text: 'of another process' }];
        const query = new URLSearchParams(path.split('?')[1]);
        const until = Number(query.get('until') ?? Infinity);
        return { ok: true, json: async () => all.filter((mark) => mark.t_ns <= until && mark.t_ns >= query.get('since')) };
      };
    });
    await page.goto(valuedUrl);
    await page.waitForSelector('html[data-ready]');
    await page.evaluate(async () => (await import('/timeline.js')).showView(1000000, 6000000));
    await settled(page);
    const colour = await page.evaluate(async () => (await import('/ruler.js')).markColour('change'));
    const dyed = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    const places = await page.evaluate(async () => {
      const { timeline, xOfTime } = await import('/timeline.js');
      const box = timeline.parts.over.getBoundingClientRect();
      return timeline.lanes.filter((lane) => lane.kind === 'thread').map((lane) => ({ stream: lane.stream,
        y: box.top + lane.top - timeline.parts.scroll.scrollTop + 7,
        x: [2e6, 3e6, 5e6].map((time) => box.left + Math.round(xOfTime(time)) + 0.5) }));
    });
    assert.ok(places.length > 1);
    for (const { stream, y, x } of places) {
      assert.deepEqual(await pixelAt(page, { x: x[0], y }), dyed, `no mark of all threads at ${stream}`);
      const probe = await pixelAt(page, { x: x[1], y });
      assert.equal(String(probe) === String(dyed), stream === 0, `a probe at ${stream}: ${probe}`);
      assert.notDeepEqual(await pixelAt(page, { x: x[2], y }), dyed, `another process's mark at ${stream}`);
    }
    const own = places.find((place) => place.stream === 0);
    await page.mouse.move(own.x[1], own.y);
    await until(page, () => document.getElementById('tip').textContent.includes('arg1='));
    assert.match(await page.textContent('#tip'), /USDT probe at .*: <b>demo<\/b>:turn\(arg1=<img src=x onerror=window.harm=1>\)/);
    assert.equal(await page.evaluate(() => window.harm), undefined);
    await page.keyboard.press('X');
    await page.waitForFunction(() => /^USDT probe .*turn\(arg1=/.test(document.getElementById('status').textContent));
    await page.keyboard.press('X');
    await page.waitForFunction(() => /all threads$/.test(document.getElementById('status').textContent));
    for (const more of ['x', 'x']) {
      await page.keyboard.press(more);
      await page.waitForFunction(() => /USDT/.test(document.getElementById('status').textContent));
    }
    await page.waitForFunction(() => /, and 11 more like it/.test(document.getElementById('status').textContent));
    assert.ok((await page.evaluate(() => window.asked)).some((path) => /joined=\d+/.test(path)));
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
};
