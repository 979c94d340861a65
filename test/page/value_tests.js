/*
 * Tests of the page: values of calls. What it shows equals what replay prints, and hostile texts do
 * no harm.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { browser, troubles, valuedTrace, valuedFile, secretFile, valuedUrl, printedOf, replayed, opened, open,
  settled, rowsOf, placeOf, until } from './shown.js';

const MARKUP = 'text="<img src=x onerror=window.harm=1>\\"\'</script><!-- `${1}`"';
const BYTES = 'text="bad \\377\\376\\303 bytes \\u202e right\\033[31m"';

/* {name: [[arguments, result]]} of the lines "name(arguments) = result;" of replay. */
function printedValues() {
  const found = new Map();
  for (const line of printedOf(valuedTrace, 'replay').split('\n')) {
    const match = /\| +([\w.]+)\((.*)\)(?: = (.*))?;$/.exec(line);
    if (match) found.set(match[1], [...found.get(match[1]) ?? [], [match[2], match[3] ?? '']]);
  }
  return found;
}

const entriesOf = (name) => replayed(valuedTrace).filter((event) => event.function === name && event.kind === 'entry');

async function shownCalls(page, name) {
  await page.fill('#functions-filter', name);
  await page.click('#functions-table tbody tr');
  await settled(page);
  await page.selectOption('#calls select', 'time');
  await until(page, () => document.querySelector('#calls .note').textContent.includes('call') &&
    document.querySelector('#calls-table tbody tr'));
  await settled(page);
  return rowsOf(page, 'calls-table');
}

/* The tooltip of a call's box that has its values. */
async function tipOf(page, event, wanted) {
  await page.evaluate(async ([time]) => {
    (await import('/timeline.js')).showView(time - 2000, time + 3000);
  }, [event.t_ns]);
  await settled(page);
  const at = await placeOf(page, { ...event, t_ns: event.t_ns + 15 });
  await page.mouse.move(at.x, at.y);
  await until(page, (text) => document.getElementById('tip').textContent.includes(text), wanted);
  return page.$$eval('#tip > *', (lines) => lines.map((line) => line.textContent));
}

async function foundBy(page, text, keys) {
  await page.fill('#search', text);
  const found = [];
  for (const key of keys) {
    await page.evaluate(() => { document.getElementById('status').textContent = ''; }); // of the search before
    await page.focus('#search');
    await page.keyboard.press(key);
    await until(page, () => /arguments|result|^No /.test(document.getElementById('status').textContent));
    found.push(await page.textContent('#status'));
  }
  return found;
}

const numbersIn = (texts) => texts.map((text) => Number(/i=(\d+)/.exec(text)?.[1]));

export const valueTests = {
  async 'calls have the values that replay prints'() {
    const page = await opened(valuedUrl);
    for (const [name, printed] of printedValues()) {
      if (!['largest', 'odd_numbers', 'odd_text', 'gone.isra.0'].includes(name)) continue;
      const rows = await shownCalls(page, name);
      assert.deepEqual(rows.map((row) => [row.arguments, row.result]), printed, name);
      assert.equal(rows[0]['arguments title'], printed[0][0]);
    }
    const [[largest]] = [printedValues().get('largest')];
    assert.deepEqual(largest, ['number=18446744073709551615, least=-9223372036854775808', '18446744073709551615']);
    assert.deepEqual(printedValues().get('odd_numbers')[0], ['number=nan, other=-inf', '-inf']);
    assert.deepEqual(printedValues().get('gone.isra.0'), [['n=?', '<gone>']]);
    assert.deepEqual(printedValues().get('odd_text').map(([text]) => text), [MARKUP, BYTES]);
    assert.equal(await page.evaluate(() => window.harm), undefined);
    await page.click('#calls-table tbody tr');
    await until(page, () => document.getElementById('status').textContent.includes('result: '));
    await page.close();
  },

  async 'a box tells its values when the pointer rests on it'() {
    const page = await opened(valuedUrl);
    const [markup, bytes] = entriesOf('odd_text');
    const lines = await tipOf(page, markup, 'result: ');
    assert.equal(lines[0], 'odd_text');
    assert.ok(lines.includes(`arguments: ${MARKUP}`), lines.join('\n'));
    assert.ok(lines.includes(`result: ${MARKUP.replace('text=', '')}`), lines.join('\n'));
    assert.ok((await tipOf(page, bytes, BYTES)).includes(`arguments: ${BYTES}`));
    const [largest] = entriesOf('largest');
    assert.ok((await tipOf(page, largest, '18446744073709551615'))
      .includes('arguments: number=18446744073709551615, least=-9223372036854775808'));
    assert.equal(await page.evaluate(() => window.harm), undefined);
    await page.close();
  },

  async 'a text is found in values, forwards and backwards'() {
    const page = await opened(valuedUrl);
    const orders = Array.from({ length: 3100 }, (_, i) => i).filter((i) => `order-${i}`.includes('order-12'));
    const texts = await foundBy(page, '=ORDER-12', ['Enter', 'Enter', 'Enter', 'Shift+Enter']);
    assert.deepEqual(numbersIn(texts), [orders[0], orders[1], orders[2], orders[1]]);
    const only = await foundBy(page, '=i=3099', ['Enter', 'Enter', 'Shift+Enter']);
    assert.equal(numbersIn(only)[0], 3099);
    assert.deepEqual(only.slice(1), ['No later value contains “i=3099”.', 'No earlier value contains “i=3099”.']);
    assert.match((await foundBy(page, '=18446744073709551615', ['Shift+Enter']))[0], /^largest /);
    await page.fill('#search', 'order-7');
    assert.match(await page.textContent('#matches'), /“order-7” in values/);
    await page.click('#matches [data-values]');
    await until(page, () => document.getElementById('status').textContent.includes('order-7'));
    assert.equal(await page.inputValue('#search'), '=order-7');
    await page.close();
  },

  async 'a long search in values goes on, and tells how far it is'() {
    const page = await open('about:blank');
    await page.addInitScript(() => {
      const real = window.fetch;
      window.asked = [];
      window.told = [];
      window.fetch = async (path, options) => {
        if (!path.startsWith('/api/find')) return real(path, options);
        const query = new URLSearchParams(path.split('?')[1]);
        window.since ??= Number(query.get('since'));
        window.asked.push([query.get('skip'), query.get('until') - window.since]);
        window.told.push(document.getElementById('status').textContent);
        const call = { stream: 0, t_ns: window.since + 1000 - window.asked.length, duration_ns: 5, self_ns: 5, end_ns: window.since + 2000,
          depth: 0, caller: null, how: 'returned' };
        const at = { at_ns: call.t_ns, stream: 0, function: 0, call };
        const answers = [{ found: null, skip: 10 }, { found: at, skip: 20 }, { found: at, skip: null }];
        return { ok: true, json: async () => ({ ...answers[window.asked.length - 1], blocks: 40 }) };
      };
    });
    await page.goto(valuedUrl);
    await page.waitForSelector('html[data-ready]');
    await settled(page);
    await page.fill('#search', '=far');
    await page.keyboard.press('Enter');
    await until(page, async () => (await import('/state.js')).state.call?.start === window.since + 997);
    const { asked, told, end } = await page.evaluate(async () => ({ asked: window.asked, told: window.told,
      end: (await import('/model.js')).model.trace.duration_ns - window.since }));
    assert.deepEqual(asked, [['0', end], ['10', end], ['20', 997]]);
    assert.match(told[1], /“far” in values: 25.0 % /);
    assert.match(told[2], /50.0 % /);
    await page.close();
  },

  async 'one file has values only if they were asked for'() {
    const secret = readFileSync(secretFile, 'utf8');
    assert.match(secret.split('\n', 1)[0], /; without values and source text -->$/);
    for (const text of ['order-1', '18446744073709551615', 'window.harm=1']) assert.ok(!secret.includes(text), text);
    const whole = readFileSync(valuedFile, 'utf8');
    assert.match(whole.split('\n', 1)[0], /; with arguments and results of single calls; without source text -->$/);
    assert.ok(!whole.includes('<img'));
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    page.on('pageerror', (error) => troubles.push(`${error.stack}`));
    await page.goto(`file://${valuedFile}`);
    await page.waitForSelector('html[data-ready]');
    await page.fill('#functions-filter', 'odd_text');
    await page.click('#functions-table tbody tr');
    await page.waitForSelector('#calls-table tbody tr:nth-child(2)');
    assert.deepEqual((await rowsOf(page, 'calls-table')).map((row) => row.arguments).sort(), [MARKUP, BYTES].sort());
    await page.fill('#search', '=18446744073709551615');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => /largest .*number=18446744073709551615/.test(
      document.getElementById('status').textContent));
    assert.equal(await page.evaluate(() => window.harm), undefined);
    await page.goto(`file://${secretFile}`);
    await page.waitForSelector('html[data-ready]');
    await page.fill('#search', '=order');
    assert.match(await page.textContent('#matches'), /no function matches/);
    await page.close();
  },
};
