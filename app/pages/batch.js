// The fewest operators that let most models convert, taken greedily: three at most.
function unblocking(rows) {
  const left = rows.filter(r => r.blocked_by.length).map(r => new Set(r.blocked_by));
  const names = new Set(left.flatMap(s => [...s])), chosen = [];
  for (let step = 0; step < 3; ++step) {
    let best = null, most = 0;
    for (const name of names) {
      const n = left.filter(s => [...s].every(x => x === name || chosen.includes(x))).length;
      if (n > most && !chosen.includes(name)) { most = n; best = name; }
    }
    if (!best) break;
    chosen.push(best);
  }
  return [chosen, left.filter(s => [...s].every(x => chosen.includes(x))).length];
}

// A histogram over powers of ten, or of two where the values are close.
function histogram(title, values, text) {
  const list = values.filter(v => v > 0);
  if (!list.length) return null;
  const base = Math.max(...list) / Math.min(...list) > 1000 ? 10 : 2;
  const bins = new Map();
  for (const v of list) { const k = Math.floor(Math.log(v) / Math.log(base) + 1e-9); bins.set(k, (bins.get(k) || 0) + 1); }
  const keys = [...bins.keys()], rows = [];
  for (let k = Math.min(...keys); k <= Math.max(...keys); ++k)
    rows.push([text(base ** k) + ' to ' + text(base ** (k + 1)), bins.get(k) || 0, count(bins.get(k) || 0, 'model')]);
  return h('div', null, h('h3', null, title), bars(rows));
}

function obstacleTable(label, what, list) {
  return sortable(label, [
    {title: what, value: o => o.name, show: o => h('code', null, o.name)},
    {title: 'Models', value: o => o.models, number: true},
    {title: 'Only this', value: o => o.alone, number: true},
    {title: 'For example', value: o => o.first, show: o => h('code', null, o.first)}], list, 50).element;
}

(function page() {
  const b = DATA, all = b.rows.length + b.not_run.length;
  const kinds = {ok: 'good', partly: 'warn', failed: 'bad', skipped: 'soft'};
  MAIN.append(h('h1', null, 'Batch of ' + count(all, 'model')),
    h('p', null, Object.entries(b.counts).map(([name, n]) => [h('span', {class: 'badge ' + (kinds[name] || '')}, n + ' ' + name), ' ']),
      b.not_run.length ? h('span', {class: 'badge warn'}, b.not_run.length + ' not run') : null),
    h('dl', null, h('dt', null, 'Exit code'), h('dd', null, b.exit_code), h('dt', null, 'Time of all models'), h('dd', null, seconds(b.seconds)),
      h('dt', null, 'Tool'), h('dd', null, b.head.tool.name + ' ' + b.head.tool.version)));
  if (b.baseline)
    section('Changes since the baseline', b.worse.length ? h('ul', null, b.worse.map(w => h('li', {class: 'bad'}, w)))
      : h('p', {class: 'good'}, 'Nothing got worse than in ' + b.baseline + '.'));
  const [chosen, unblocked] = unblocking(b.rows);
  if (b.obstacles.length)
    section('Operators that block models', h('p', null, 'With ', chosen.map((c, i) => [i ? ', ' : '', h('code', null, c)]),
      ' ' + count(unblocked, 'more model') + ' would convert.'), obstacleTable('Operators that block models', 'Operator', b.obstacles));
  if (b.causes.length)
    section('Failures by cause', h('p', {class: 'soft'}, 'onnx-export explain CODE says what each code means.'), obstacleTable('Failures by cause', 'Code', b.causes));
  const search = h('input', {type: 'search', id: 'model-search', placeholder: 'path, problem or operator'});
  const status = h('select', {id: 'model-status'}, h('option', {value: ''}, 'all'), Object.keys(b.counts).map(s => h('option', {value: s}, s)));
  const shown = h('span', {role: 'status', class: 'soft'});
  const table = sortable('Models', [
    {title: 'Model', value: r => r.model, show: r => r.page ? h('a', {href: r.page.split('/').map(encodeURIComponent).join('/')}, r.model) : h('span', {class: 'mono'}, r.model)},
    {title: 'Status', value: r => r.status, show: r => h('span', {class: kinds[r.status] || ''}, r.status)},
    {title: 'Opset', value: r => r.opset, show: r => r.opset || '', number: true},
    {title: 'Lowest', value: r => r.lowest, show: r => r.lowest ?? '', number: true},
    {title: 'Nodes', value: r => r.nodes, show: r => r.nodes || '', number: true},
    {title: 'Size', value: r => r.bytes, show: r => r.bytes ? bytes(r.bytes) : '', number: true},
    {title: 'Largest error', value: r => r.error, show: r => error(r.error), number: true},
    {title: 'ms a call', value: r => r.latency, show: r => r.latency === null ? '' : r.latency.toPrecision(3), number: true},
    {title: 'Time', value: r => r.seconds, show: r => seconds(r.seconds), number: true},
    {title: 'Memory', value: r => r.peak, show: r => r.peak ? bytes(r.peak) : '', number: true},
    {title: 'Problem', value: r => r.problem, show: r => r.problem ? [h('code', null, r.codes.join(' ')), ' ' + r.problem.slice(0, 300)] : ''}], b.rows, 200);
  const texts = b.rows.map(r => (r.model + ' ' + (r.problem || '') + ' ' + r.codes.join(' ') + ' ' + r.blocked_by.join(' ') + ' ' + r.operators.join(' ')).toLowerCase());
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const list = b.rows.filter((r, i) => (!status.value || r.status === status.value) && words.every(w => texts[i].includes(w)));
    shown.textContent = count(list.length, 'model');
    table.filter(list);
  };
  search.addEventListener('input', filter);
  status.addEventListener('change', filter);
  section('Models', h('div', {class: 'controls'}, h('label', {for: 'model-search'}, 'Filter'), search, h('label', {for: 'model-status'}, 'Status'), status, shown), table.element);
  filter();
  if (b.not_run.length) section('Not run', h('ul', null, b.not_run.map(m => h('li', {class: 'mono'}, m))));
  const opsets = new Map();
  for (const r of b.rows) if (r.lowest) opsets.set(r.lowest, (opsets.get(r.lowest) || 0) + 1);
  const used = new Map();
  for (const r of b.rows) for (const o of r.operators) used.set(o, (used.get(o) || 0) + 1);
  if (opsets.size) section('Models by their lowest opset', bars([...opsets].sort((x, y) => x[0] - y[0]).map(([o, n]) => ['opset ' + o, n, count(n, 'model')])));
  if (used.size) section('ONNX operators', sortable('ONNX operators', [
    {title: 'Operator', value: o => o[0], show: o => h('code', null, o[0])},
    {title: 'Models', value: o => o[1], number: true},
    {title: 'Opsets', value: o => o[2]}], [...used].sort((x, y) => y[1] - x[1]).map(([o, n]) => [o, n,
      [...new Set(b.rows.filter(r => r.operators.includes(o)).map(r => r.opset))].sort((x, y) => x - y).join(', ')]), 50).element);
  section('Time, memory and size', h('div', {class: 'plots'}, histogram('Seconds', b.rows.map(r => r.seconds), seconds),
    histogram('Memory', b.rows.map(r => r.peak), bytes), histogram('Size', b.rows.map(r => r.bytes), bytes)));
  MAIN.append(h('footer', null, 'Made by onnx-export ' + b.head.tool.version + '.'));
})();
