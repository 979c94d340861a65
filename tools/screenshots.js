/*
 * screenshots.js URL NAME FOLDER: pictures of the page that `spoor view` serves at URL, for the
 * documents. NAME says which program was recorded; tools/screenshots runs this.
 */
import { chromium } from 'playwright-core';

const [url, name, folder] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'] });

async function open(colorScheme, fragment) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 }, colorScheme });
  await page.goto(url + fragment);
  await page.waitForSelector('html[data-ready]');
  await rest(page);
  return page;
}

async function rest(page) {
  await page.waitForFunction(async () => {
    const { loaded, loaderIsBusy } = await import('/loader.js');
    return !loaderIsBusy() && loaded.whole && !document.querySelector('[aria-busy]') &&
      document.getElementById('progress').hidden;
  }, undefined, { timeout: 120000 });
  await page.waitForTimeout(400);
}

async function save(page, what) {
  await page.screenshot({ path: `${folder}/view-${name}-${what}.png` });
  await page.close();
}

async function openRow(page, filter) {
  await page.fill('#functions-filter', filter);
  await page.click('#functions-table tbody tr');
  await page.fill('#functions-filter', '');
  await page.evaluate(() => document.activeElement.blur());
  await rest(page);
}

const pictures = {
  async python3() {
    const timeline = await open('light', '');
    await openRow(timeline, '_PyEval_EvalFrameDefault');
    await timeline.mouse.move(900, 155);
    await rest(timeline);
    await save(timeline, 'timeline');
    await save(await open('dark', '&tab=flame'), 'flame');
  },
  async cc1() {
    const page = await open('light', '&tab=flame');
    await save(page, 'flame');
    const outline = await open('dark', '&tab=bottomup');
    await outline.focus('#bottomup-table');
    for (const key of ['ArrowDown', 'Enter']) await outline.keyboard.press(key);
    await rest(outline);
    await save(outline, 'bottomup');
  },
  async redis() {
    const page = await open('light', '');
    await openRow(page, 'processCommand');
    await page.keyboard.press('n');
    await page.waitForFunction(async () => (await import('/state.js')).state.call !== null);
    for (const key of ['z', 's', 's', 's']) await page.keyboard.press(key);
    await rest(page);
    await page.keyboard.press('f');
    await rest(page);
    await save(page, 'timeline');
  },
};
await pictures[name]();
await browser.close();
