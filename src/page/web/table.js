/*
 * A table of any number of rows: only those in sight are in the document. It is sorted by a click on
 * a heading, and moved through by arrow keys.
 */
import { element } from './format.js';

const ROW_HEIGHT = 22;
const MOST_PIXELS = 15e6;
let tablesMade = 0;

/* A column: {key, label, title, text(row) or cell(row), value(row), left, wide}. value: a number or
 * a text to sort by; without it the column cannot be sorted by. */

/**
 * A table. OPTIONS: {caption, columns, sort: {key, descending}, open(row), keyOf(row),
 * onKey(event, row), attributes(row)}. Returns {root, setRows(rows), setActive(key), rows()}.
 */
export function newTable(options) {
  const table = {
    options, rows: [], shown: [], active: -1, id: `table${++tablesMade}`,
    sort: options.sort ?? null, drawn: '',
  };
  table.body = element('tbody');
  table.heads = new Map();
  const caption = element('caption', {}, options.caption);
  table.grid = element('table', { role: 'grid', 'aria-label': options.caption }, caption,
    element('thead', {}, headOf(table)), table.body);
  table.root = element('div', { class: 'table', tabindex: '0', 'aria-label': options.caption,
    role: 'group' }, table.grid);
  table.root.addEventListener('scroll', () => drawRows(table), { passive: true });
  table.root.addEventListener('keydown', (event) => onTableKey(table, event));
  new ResizeObserver(() => drawRows(table)).observe(table.root);
  markSort(table);
  return {
    root: table.root,
    rows: () => table.shown,
    setRows: (rows) => { table.rows = rows; table.drawn = ''; sortRows(table); },
    setActive: (key) => activate(table, table.shown.findIndex((row) => options.keyOf(row) === key)),
    caption: (text) => { caption.textContent = text; table.grid.setAttribute('aria-label', text); },
  };
}

function headOf(table) {
  const row = element('tr', { 'aria-rowindex': '1' });
  for (const column of table.options.columns) {
    const head = element('th', { scope: 'col', class: classOf(column), title: column.title });
    if (column.value) {
      head.append(element('button', { onclick: () => sortBy(table, column) }, column.label));
    } else {
      head.append(element('span', {}, column.label));
    }
    table.heads.set(column.key, head);
    row.append(head);
  }
  return row;
}

function classOf(column) {
  return [column.left ? 'left' : '', column.wide ? 'wide' : ''].join(' ').trim() || null;
}

function sortBy(table, column) {
  const again = table.sort?.key === column.key;
  table.sort = { key: column.key, descending: again ? !table.sort.descending : !column.left };
  markSort(table);
  sortRows(table);
}

function markSort(table) {
  for (const [key, head] of table.heads) {
    const column = table.options.columns.find((one) => one.key === key);
    if (!column.value) continue;
    const own = table.sort?.key === key;
    const way = own ? (table.sort.descending ? 'descending' : 'ascending') : 'none';
    head.setAttribute('aria-sort', way);
    head.firstElementChild.textContent =
      column.label + (own ? (table.sort.descending ? ' ▾' : ' ▴') : '');
  }
}

function compareValues(a, b) {
  if (typeof a === 'string') return a < b ? -1 : a > b ? 1 : 0;
  return (a ?? -Infinity) - (b ?? -Infinity);
}

function sortRows(table) {
  const { sort, options } = table;
  const activeKey = table.shown[table.active] && options.keyOf(table.shown[table.active]);
  const column = options.columns.find((one) => one.key === sort?.key);
  table.shown = table.rows;
  if (column?.value) {
    const way = sort.descending ? -1 : 1;
    table.shown = [...table.rows].sort((a, b) => way * compareValues(column.value(a), column.value(b)));
  }
  table.active = activeKey === undefined ? -1
    : table.shown.findIndex((row) => options.keyOf(row) === activeKey);
  table.grid.setAttribute('aria-rowcount', String(table.shown.length + 1));
  table.drawn = '';
  drawRows(table);
}

function cellOf(column, row) {
  const cell = element('td', { class: classOf(column) });
  if (column.cell) cell.append(...column.cell(row));
  else cell.textContent = column.text(row);
  const title = column.cellTitle?.(row) ?? (column.wide ? cell.textContent : null);
  if (title) cell.title = title;
  return cell;
}

function rowOf(table, index) {
  const row = table.shown[index];
  const made = element('tr', { id: `${table.id}-${index}`, 'aria-rowindex': String(index + 2) });
  for (const [key, value] of Object.entries(table.options.attributes?.(row) ?? {})) {
    made.setAttribute(key, value);
  }
  made.append(...table.options.columns.map((column) => cellOf(column, row)));
  made.addEventListener('click', () => { activate(table, index); table.options.open?.(row); });
  return made;
}

function spacerRow(rows, columns) {
  const cell = element('td', { colspan: String(columns) });
  cell.style.height = `${Math.min(MOST_PIXELS, rows * ROW_HEIGHT)}px`;
  return element('tr', { class: 'spacer', 'aria-hidden': 'true' }, cell);
}

function drawRows(table) {
  const { root, shown, body } = table;
  const height = root.clientHeight || 400;
  const first = Math.max(0, Math.floor(root.scrollTop / ROW_HEIGHT) - 6);
  const last = Math.min(shown.length, first + Math.ceil(height / ROW_HEIGHT) + 12);
  const drawn = `${first} ${last} ${shown.length}`;
  if (drawn !== table.drawn) {
    table.drawn = drawn;
    const columns = table.options.columns.length;
    const rows = [];
    for (let i = first; i < last; i++) rows.push(rowOf(table, i));
    body.replaceChildren(...(first > 0 ? [spacerRow(first, columns)] : []), ...rows,
      ...(last < shown.length ? [spacerRow(shown.length - last, columns)] : []));
  }
  for (const row of body.children) {
    const isActive = row.id === `${table.id}-${table.active}`;
    row.classList.toggle('active', isActive);
    row.setAttribute('aria-selected', String(isActive));
  }
}

function activate(table, index) {
  table.active = index;
  const { root } = table;
  if (index >= 0) {
    const top = index * ROW_HEIGHT;
    const head = 24;
    if (top < root.scrollTop) root.scrollTop = top;
    else if (top + ROW_HEIGHT + head > root.scrollTop + root.clientHeight) {
      root.scrollTop = top + ROW_HEIGHT + head - root.clientHeight;
    }
    root.setAttribute('aria-activedescendant', `${table.id}-${index}`);
  }
  drawRows(table);
}

function onTableKey(table, event) {
  if (event.target !== table.root || event.ctrlKey || event.metaKey || event.altKey) return;
  const page = Math.max(1, Math.floor(table.root.clientHeight / ROW_HEIGHT) - 2);
  const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page,
    Home: -Infinity, End: Infinity };
  const row = table.shown[table.active];
  if (event.key in steps) {
    const last = table.shown.length - 1;
    activate(table, Math.max(0, Math.min(last, table.active + steps[event.key])));
  } else if (event.key === 'Enter' && row) table.options.open?.(row);
  else if (!row || !table.options.onKey?.(event, row)) return;
  event.preventDefault();
  event.stopPropagation();
}
