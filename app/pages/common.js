'use strict';
const DATA = JSON.parse(document.getElementById('data').textContent);
const MAIN = document.getElementById('main');

// An element; children that are text stay text.
function h(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === 'class') e.className = value;
    else if (key.startsWith('on')) e.addEventListener(key.slice(2), value);
    else if (key === 'style') Object.assign(e.style, value);
    else e.setAttribute(key, value === true ? '' : String(value));
  }
  for (const child of children.flat(Infinity))
    if (child !== null && child !== undefined && child !== false)
      e.append(child instanceof Node ? child : document.createTextNode(String(child)));
  return e;
}

function bytes(n) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let i = 0;
  while (n >= 1000 && i < units.length - 1) { n /= 1000; ++i; }
  return (i ? n.toPrecision(3) : String(n)) + ' ' + units[i];
}
function seconds(n) { return n < 0.001 ? '0 s' : n < 1 ? (n * 1000).toFixed(0) + ' ms' : n.toFixed(n < 10 ? 2 : 1) + ' s'; }
function count(n, word) { return n + ' ' + word + (n === 1 ? '' : 's'); }
function error(e) { return e === null || e === undefined ? '' : e === 0 ? '0' : Number(e).toExponential(1); }

function section(title, ...children) {
  const id = title.toLowerCase().replace(/[^a-z0-9]+/g, '-');
  let unique = id;
  for (let i = 2; document.getElementById(unique); ++i) unique = id + '-' + i;
  const s = h('section', {'aria-labelledby': unique}, h('h2', {id: unique}, title), ...children);
  MAIN.append(s);
  return s;
}

// A table whose columns sort. columns: {title, value(row), show(row), number}. Rows beyond `most`
// appear on request.
function sortable(label, columns, rows, most = 200) {
  let shown = most, by = -1, down = false, current = rows;
  const body = h('tbody');
  const headers = columns.map((c, i) => h('th', {scope: 'col', class: c.number ? 'number' : null, 'aria-sort': 'none'},
    h('button', {type: 'button', onclick: () => sort(i)}, c.title)));
  const more = h('button', {type: 'button', class: 'plain', onclick: () => { shown *= 5; draw(); }});
  function sort(i) {
    down = by === i ? !down : Boolean(columns[i].number);
    by = i;
    draw();
  }
  function draw() {
    let list = current;
    if (by >= 0) {
      const value = columns[by].value;
      const order = (a, b) => a === b ? 0 : a === null || a === undefined ? -1 : b === null || b === undefined ? 1 : a < b ? -1 : 1;
      list = [...current].sort((a, b) => (down ? -1 : 1) * order(value(a), value(b)));
    }
    headers.forEach((th, i) => th.setAttribute('aria-sort', i !== by ? 'none' : down ? 'descending' : 'ascending'));
    body.replaceChildren(...list.slice(0, shown).map(row => h('tr', null, columns.map(c =>
      h('td', {class: c.number ? 'number' : null}, c.show ? c.show(row) : c.value(row))))));
    more.hidden = list.length <= shown;
    more.textContent = 'Show more (' + (list.length - shown) + ' left)';
  }
  draw();
  const element = h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label + ' (table)'},
    h('table', null, h('caption', {class: 'skip'}, label), h('thead', null, h('tr', null, headers)), body), more);
  return {element, filter(list) { current = list; shown = most; draw(); }};
}

// Horizontal bars: [label, number, text]. The text says the number, so that the bar may be hidden.
function bars(list, scale = x => x) {
  const largest = Math.max(...list.map(([, n]) => scale(n)), 0);
  return h('div', {class: 'bars'}, list.map(([label, n, text]) => [
    h('div', {class: 'label'}, label),
    h('div', {'aria-hidden': 'true'}, h('div', {class: 'bar', style: {width: largest ? Math.max(0, 100 * scale(n) / largest) + '%' : '0'}})),
    h('div', null, text)]));
}

function problems(list) {
  return list.map(p => h('div', {class: 'problem ' + p.severity},
    h('div', null, h('strong', {class: p.severity === 'error' ? 'bad' : p.severity === 'warning' ? 'warn' : null}, p.severity),
      ' ', h('code', null, p.code), ' ', p.operator ? [h('code', null, p.operator), ': '] : null),
    h('pre', null, p.message),
    p.place && p.place.line > 0 ? h('div', {class: 'mono soft'}, p.place.file + ':' + p.place.line + '    ' + p.place.text) : null,
    p.place && p.place.module ? h('div', {class: 'soft'}, 'in module ', h('code', null, p.place.module)) : null,
    p.hint ? h('div', null, 'Hint: ' + p.hint) : null));
}
