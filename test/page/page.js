/*
 * page.js URL SPOOR TRACE FILE VALUED_TRACE VALUED_FILE SECRET_FILE VALUED_URL: the page of `spoor view` in Chromium, compared with what spoor
 * prints. URL is what `spoor view TRACE` printed, FILE what `spoor view --html=FILE TRACE` wrote.
 * The
 * VALUED ones are of a recording with values, which SECRET_FILE leaves out. Prints a line for each test; the status is 1 if one fails. ONLY=WORDS runs those with WORDS.
 */
import assert from 'node:assert/strict';
import { browser, troubles } from './shown.js';
import { timelineTests } from './timeline_tests.js';
import { panelTests } from './panel_tests.js';
import { valueTests } from './value_tests.js';

const tests = { ...timelineTests, ...panelTests, ...valueTests };
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
