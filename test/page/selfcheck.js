/*
 * Checks the page of `spoor view` from within, in a browser that no test drives, and paints the
 * outcome: a square for each check at the bottom of the window, green, or red with words beside it;
 * blue until it was made. firefox.py puts the rows of `spoor report --json` in place of EXPECTED.
 */
{
  const expected = EXPECTED;
  const PATIENCE_MS = 30000;
  const troubles = [];
  addEventListener('error', (event) => troubles.push(event.message ?? 'a part was not loaded'), true);
  addEventListener('unhandledrejection', (event) => troubles.push(String(event.reason)));
  addEventListener('securitypolicyviolation', (event) => troubles.push(`refused: ${event.blockedURI}`));

  const digits = (text) => Number(text.replace(/[^0-9]/g, ''));

  /* Numbers of the rows that the table has in the document. */
  function rowsAreRight() {
    const heads = [...document.querySelectorAll('#functions-table th')]
      .map((head) => head.textContent.replace(/ [▾▴]$/, ''));
    const rows = [...document.querySelectorAll('#functions-table tbody tr:not(.spacer)')];
    if (rows.length < Math.min(5, expected.length)) return `${rows.length} rows`;
    for (const row of rows) {
      const cell = (label) => row.cells[heads.indexOf(label)];
      const known = expected.find((one) => one.function === cell('function').textContent);
      if (!known) return `${cell('function').textContent} is not in the report`;
      const shown = [digits(cell('calls').textContent), digits(cell('total').title), digits(cell('self').title)];
      const wanted = [known.calls, known.total_ns, known.self_ns];
      if (String(shown) !== String(wanted)) return `${known.function}: ${shown} in place of ${wanted}`;
    }
    return '';
  }

  /* Pictures have colours; the density that stands for boxes which are not there yet is grey. */
  function hasColours(selector) {
    const canvas = document.querySelector(selector);
    if (!canvas?.width) return 'no picture';
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    let coloured = 0;
    for (let i = 0; i < data.length; i += 4) {
      const parts = [data[i], data[i + 1], data[i + 2]];
      if (Math.max(...parts) - Math.min(...parts) > 60) coloured++;
    }
    return coloured > 500 ? '' : `${coloured} coloured pixels`;
  }

  const press = (key) => document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  const rowOf = (name) => [...document.querySelectorAll('#functions-table tbody tr:not(.spacer)')]
    .find((row) => row.cells[0].textContent === name);

  /* Each is asked again until it gives '', or PATIENCE_MS have passed. */
  const checks = [
    ['ready', () => (document.documentElement.dataset.ready === 'yes' ? '' : 'not ready')],
    ['numbers', rowsAreRight],
    ['boxes', () => hasColours('#lanes')],
    ['calls', () => {
      rowOf(expected[0].function)?.click();
      return document.querySelectorAll('#calls-table tbody tr').length > 0 ? '' : 'no calls';
    }],
    ['flame', () => {
      if (!document.querySelector('#flame-picture')) press('2');
      return hasColours('#flame-picture canvas');
    }],
    ['errors', () => troubles.join('; ')],
  ];

  function paint(i, colour) {
    const square = document.createElement('div');
    Object.assign(square.style, { position: 'fixed', left: `${20 * i}px`, bottom: '0', width: '20px',
      height: '20px', background: colour, zIndex: '99' });
    document.body.append(square);
  }

  async function passes(check) {
    const end = performance.now() + PATIENCE_MS;
    for (;;) {
      const why = check();
      if (!why || performance.now() > end) return why;
      await new Promise((done) => setTimeout(done, 50));
    }
  }

  async function run() {
    const words = [];
    checks.forEach((_, i) => paint(i, 'rgb(0, 0, 200)'));
    for (const [i, [name, check]] of checks.entries()) {
      const why = await passes(check);
      if (why) words.push(`${name}: ${why}`);
      paint(i, why ? 'rgb(200, 0, 0)' : 'rgb(0, 160, 0)');
      document.getElementById('status').textContent = `${' '.repeat(40)}${words.join('; ')}`;
    }
    document.getElementById('status').style.whiteSpace = 'pre';
  }
  run();
}
