/*
 * The tabs "Top-down" and "Bottom-up": paths as a table whose rows unfold.
 */
import { change } from './state.js';
import { cssColour } from './colours.js';
import { newTable } from './table.js';
import { refreshTab } from './panel.js';
import { graphOfRange, allPathsButton, treeWords } from './graph.js';
import { bottomUpTree } from './paths.js';
import { element, formatNs, formatExact, formatCount, formatShare } from './format.js';

/* Rows are {node, depth, id, open}. */
function visibleRows(top, opened) {
  const rows = [];
  const work = top.children.map((node) => ({ node, depth: 0, id: node.key })).reverse();
  while (work.length > 0) {
    const row = work.pop();
    rows.push(row);
    if (!opened.has(row.id)) continue;
    for (let i = row.node.children.length - 1; i >= 0; i--) {
      const child = row.node.children[i];
      work.push({ node: child, depth: row.depth + 1, id: `${row.id}\x01${child.key}` });
    }
  }
  return rows;
}

function outlineColumns(outline, words) {
  const share = (row) => formatShare(row.node.total, outline.top.total);
  const columns = [
    { key: 'share', label: words.share, title: words.title, text: share },
    { key: 'total', label: words.total, title: words.title, text: (row) => formatNs(row.node.total),
      cellTitle: (row) => formatExact(row.node.total) },
    { key: 'self', label: 'self', text: (row) => formatNs(row.node.self),
      cellTitle: (row) => formatExact(row.node.self) },
    { key: 'calls', label: 'calls', text: (row) => formatCount(row.node.calls) },
    { key: 'name', label: 'function', left: true, wide: true, cellTitle: (row) => row.node.name,
      cell: (row) => nameCells(outline, row) },
  ];
  return words.self ? columns : columns.filter((column) => column.key !== 'self');
}

function nameCells(outline, row) {
  const twist = element('span', { class: 'twist', 'aria-hidden': 'true' },
    row.node.children.length === 0 ? '' : outline.opened.has(row.id) ? '▾' : '▸');
  twist.style.marginLeft = `${Math.min(row.depth, 60) * 14}px`;
  const swatch = element('span', { class: 'swatch' });
  if (!row.node.rest) swatch.style.background = cssColour(row.node.module, row.node.name);
  const module = element('span', { class: 'note' }, row.node.rest ? '' : `  ${row.node.module}`);
  return [twist, swatch, row.node.name, module];
}

function setOpen(outline, row, open) {
  if (open) outline.opened.add(row.id);
  else outline.opened.delete(row.id);
  outline.table.setRows(visibleRows(outline.top, outline.opened));
}

/* Also opens what has one child only, so that a chain of calls needs one click. */
function openChain(outline, row) {
  let { node, id } = row;
  outline.opened.add(id);
  while (node.children.length === 1) {
    [node] = node.children;
    id = `${id}\x01${node.key}`;
    outline.opened.add(id);
  }
  setOpen(outline, row, true);
}

function onOutlineKey(outline, event, row) {
  const open = outline.opened.has(row.id);
  if (event.key === 'ArrowRight' && !open) setOpen(outline, row, true);
  else if (event.key === 'ArrowLeft' && open) setOpen(outline, row, false);
  else if (event.key === 'ArrowLeft' && row.depth > 0) {
    outline.table.setActive(row.id.slice(0, row.id.lastIndexOf('\x01')));
  } else return false;
  return true;
}

function newOutlineTab(id, label, words, treeOf) {
  const outline = { table: null, note: null, top: null, opened: new Set(), tree: null };
  return {
    id, label, needs: [],
    build() {
      outline.table = newTable({
        caption: words.caption, columns: outlineColumns(outline, words), keyOf: (row) => row.id,
        attributes: (row) => (row.node.children.length === 0 ? { 'aria-level': row.depth + 1 }
          : { 'aria-level': row.depth + 1, 'aria-expanded': String(outline.opened.has(row.id)) }),
        open: (row) => {
          if (outline.opened.has(row.id)) setOpen(outline, row, false);
          else openChain(outline, row);
          if (row.node.number !== null) change({ function: row.node.number });
        },
        onKey: (event, row) => onOutlineKey(outline, event, row),
      });
      outline.table.root.id = `${id}-table`;
      outline.note = element('span', { class: 'note grow', role: 'status' });
      return [element('div', { class: 'bar' }, outline.note, allPathsButton(refreshTab)),
        outline.table.root];
    },
    async show(signal) {
      const tree = await graphOfRange(signal);
      if (outline.tree === tree) return;
      outline.tree = tree;
      outline.top = treeOf(tree.top);
      outline.opened = new Set();
      if (outline.top.children.length === 1) openChain(outline, visibleRows(outline.top, new Set())[0]);
      outline.table.setRows(visibleRows(outline.top, outline.opened));
      const least = tree.rest && words.least ? words.least : '';
      outline.note.textContent = treeWords(tree) + least;
    },
  };
}

/** The tab "Top-down". */
export const topDownView = newOutlineTab('topdown', 'Top-down', {
  caption: 'Call paths from the outermost callers down', share: 'total %', total: 'total', self: true,
  title: 'time in the calls of this path',
}, (top) => top);

/** The tab "Bottom-up". */
export const bottomUpView = newOutlineTab('bottomup', 'Bottom-up', {
  caption: 'Functions by their own time, and the paths that call them', share: 'self %',
  total: 'self', self: false,
  least: ', so a row may hold less than all of a function’s own time',
  title: 'own time of the outermost row when called by this path',
}, bottomUpTree);
