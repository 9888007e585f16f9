function portRows(label, ports) {
  const dim = a => a.size !== null ? String(a.size) : a.name || '?';
  const bound = a => a.low === null && a.high === null ? '' : (a.name || '?') + ' ' + (a.low ?? 0) + '..' + (a.high ?? '');
  return h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label + ' (table)'}, h('table', null,
    h('thead', null, h('tr', null, ['Name', 'Type', 'Shape', 'Bounds', 'Argument'].map(t => h('th', {scope: 'col'}, t)))),
    h('tbody', null, ports.map(p => h('tr', null,
      h('td', null, h('code', null, p.name)), h('td', null, (p.kind === 'tensor' ? '' : p.kind + ' of ') + p.type),
      h('td', null, p.dims ? '[' + p.dims.map(dim).join(', ') + ']' : 'any rank'),
      h('td', null, (p.dims || []).map(bound).filter(Boolean).join(', ')), h('td', null, p.argument || ''))))));
}

function verification(v) {
  const verdict = {agrees: ['good', 'agrees with LibTorch'], differs: ['bad', 'differs from LibTorch'],
    partly: ['warn', 'agrees as far as it could be compared'], 'not compared': ['warn', 'not compared']}[v.verdict] || ['', v.verdict];
  section('Verification', h('p', null, h('span', {class: 'badge ' + verdict[0]}, verdict[1]), ' ', v.text,
    v.latency_ms ? ' A call of ONNX Runtime takes ' + v.latency_ms.toPrecision(3) + ' ms.' : null));
  const outputs = v.outputs || [];
  if (!outputs.length) return;
  MAIN.append(sortable('Outputs that were compared', [
    {title: 'Output', value: o => o.name, show: o => h('code', null, o.name)},
    {title: 'Verdict', value: o => o.verdict},
    {title: 'Elements', value: o => o.elements, number: true},
    {title: 'Largest error', value: o => o.largest_error, show: o => error(o.largest_error), number: true},
    {title: 'Among values to', value: o => o.among_values_to, show: o => error(o.among_values_to), number: true}], outputs).element);
  const drawn = outputs.slice(0, 40).filter(o => o.largest_error !== null);
  if (drawn.length) MAIN.append(h('h3', null, 'Largest error by output (logarithmic)'),
    bars(drawn.map(o => [o.name, o.largest_error, error(o.largest_error)]), e => e > 0 ? Math.max(0.02, 18 + Math.log10(e)) : 0));
}

function found(list) {
  if (!list.length) return;
  section('Inputs that were found', h('p', {class: 'soft'}, 'Grades: forced (nothing else runs), usual (others run too), free.'),
    h('ul', null, list.map(i => h('li', null, h('code', null, i.spec),
      h('ul', null, i.rank ? h('li', null, 'rank (' + i.rank_grade + '): ' + i.rank + (i.other_ranks ? '; also runs: ' + i.other_ranks : '')) : null,
        i.type ? h('li', null, 'type (' + i.type_grade + '): ' + i.type + (i.other_types ? '; also runs: ' + i.other_types : '')) : null,
        i.axes.map((a, n) => h('li', null, 'axis ' + n + ': ' + a.size + ', ' + a.grade + (a.reason ? ': ' + a.reason : ''))),
        i.baked ? h('li', null, 'part of the model: ' + i.baked) : null)))));
}

function moduleTree(graph, view) {
  const total = new Map();
  const add = (path, bytesOf, nodes) => {
    for (let p = path; ; p = p.slice(0, Math.max(0, p.lastIndexOf('.')))) {
      const t = total.get(p) || {bytes: 0, nodes: 0, children: new Set()};
      t.bytes += bytesOf; t.nodes += nodes;
      total.set(p, t);
      if (!p) break;
      const up = p.slice(0, Math.max(0, p.lastIndexOf('.')));
      if (!total.has(up)) total.set(up, {bytes: 0, nodes: 0, children: new Set()});
      total.get(up).children.add(p);
    }
  };
  for (const n of graph.nodes) add(n.origin >= 0 ? graph.origins[n.origin].module : '', 0, 1);
  for (const w of graph.weights) {
    const dot = w.name.lastIndexOf('.');
    add(dot < 0 ? '' : w.name.slice(0, dot), w.bytes, 0);
  }
  const item = path => {
    const t = total.get(path), name = path ? path.slice(path.lastIndexOf('.') + 1) : 'model';
    const label = [h('strong', null, name), h('span', {class: 'soft'}, '  ' + count(t.nodes, 'node') + ', ' + bytes(t.bytes) + ' of weights')];
    if (!t.children.size) return h('li', null, label);
    const inner = h('ul');
    const d = h('details', {open: !path}, h('summary', null, label), inner);
    const fill = () => { if (d.open && !inner.firstChild) inner.append(...[...t.children].map(item)); };
    d.addEventListener('toggle', fill);
    fill();
    return h('li', null, d);
  };
  if (!total.has('')) return;
  section('Modules', h('ul', {class: 'tree'}, item('')));
}

function graphSection(graph) {
  if (!graph || !graph.nodes.length) return;
  const side = h('div', {class: 'side', 'aria-live': 'polite'}, h('p', {class: 'soft'}, 'Choose a node, or search for one.'));
  const weights = new Map(graph.weights.map(w => [w.name, w]));
  const view = new GraphView(graph, box => {
    side.replaceChildren();
    if (box.node < 0) {
      side.append(h('h3', null, box.port ? box.kind + ' ' + box.port : box.path || 'model'), box.children ? h('p', null, count(box.total, 'node')) : '');
      return;
    }
    const n = graph.nodes[box.node], o = n.origin >= 0 ? graph.origins[n.origin] : null;
    const link = v => {
      const maker = view.producer.get(v);
      return maker && maker.node >= 0 ? h('button', {type: 'button', class: 'plain', onclick: () => view.show(maker)}, v)
        : h('code', null, v + (weights.has(v) ? '  ' + weights.get(v).type : ''));
    };
    const readers = n.outputs.filter(Boolean).flatMap(v => graph.nodes.map((m, i) => [m, i]).filter(([m]) => m.inputs.includes(v)));
    side.append(h('h3', null, n.op), h('dl', null,
      h('dt', null, 'Name'), h('dd', {class: 'mono'}, n.name),
      o && o.module ? [h('dt', null, 'Module'), h('dd', {class: 'mono'}, o.module)] : null,
      o && o.line > 0 ? [h('dt', null, 'Source'), h('dd', {class: 'mono'}, o.file + ':' + o.line, h('br'), o.text)] : null,
      o && o.operator ? [h('dt', null, 'PyTorch'), h('dd', {class: 'mono'}, o.operator)] : null,
      h('dt', null, 'Inputs'), h('dd', null, n.inputs.filter(Boolean).map(v => h('div', null, link(v)))),
      h('dt', null, 'Outputs'), h('dd', null, n.outputs.map((v, i) => v ? h('div', {class: 'mono'}, v + '  ' + n.types[i]) : null)),
      readers.length ? [h('dt', null, 'Read by'), h('dd', null, readers.slice(0, 20).map(([m, i]) =>
        h('div', null, h('button', {type: 'button', class: 'plain', onclick: () => view.show(view.boxes[i])}, m.op + ' ' + m.name))))] : null));
  });
  const results = h('div', {class: 'results', role: 'region', 'aria-label': 'Nodes that match'});
  const found = h('span', {role: 'status', class: 'soft'});
  const texts = graph.nodes.map(n => (n.op + ' ' + n.name + ' ' + n.outputs.join(' ') + (n.origin >= 0 ? ' ' + graph.origins[n.origin].module : '')).toLowerCase());
  const search = h('input', {type: 'search', id: 'node-search', placeholder: 'name, operator or module', oninput: () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = words.length ? texts.reduce((list, t, i) => { if (words.every(w => t.includes(w))) list.push(i); return list; }, []) : [];
    const named = i => words.includes(graph.nodes[i].op.toLowerCase()) ? 0 : 1;  // an operator before names with it
    hits.sort((a, b) => named(a) - named(b) || a - b);
    found.textContent = words.length ? count(hits.length, 'match').replace('matchs', 'matches') : '';
    results.replaceChildren(...hits.slice(0, 50).map(i => h('button', {type: 'button', onclick: () => view.show(view.boxes[i])},
      h('strong', null, graph.nodes[i].op), ' ', h('span', {class: 'mono'}, graph.nodes[i].name))));
  }});
  const button = (text, f, label) => h('button', {type: 'button', class: 'plain', onclick: f, 'aria-label': label}, text);
  section('Graph', h('p', {class: 'soft'}, 'A click on a box with + unfolds it. Drag to move; the wheel zooms while the graph has the focus.',
      graph.left_out ? ' ' + count(graph.left_out, 'node') + ' more are not drawn.' : ''),
    h('div', {class: 'controls'}, h('label', {for: 'node-search'}, 'Search'), search, found, button('Unfold all', () => view.foldAll(true)),
      button('Fold all', () => view.foldAll(false)), button('Show all', () => view.fit()), button('+', () => view.zoom(1.25), 'Zoom in'),
      button('\u2212', () => view.zoom(0.8), 'Zoom out'), view.status),
    h('div', {class: 'split'}, h('div', {class: 'graph'}, view.canvas), h('div', null, results, side)));
}

function method(m, graph, heading) {
  if (heading) MAIN.append(h('h1', null, 'Method ' + heading));
  if (m.problems.length) section('Problems', problems(m.problems));
  if (m.inputs.length || m.outputs.length)
    section('Inputs and outputs', h('h3', null, 'Inputs'), portRows('Inputs', m.inputs), h('h3', null, 'Outputs'), portRows('Outputs', m.outputs),
      m.parameter_inputs ? h('p', null, count(m.parameter_inputs, 'parameter') + ' are inputs behind those.') : null);
  if (m.verification) verification(m.verification);
  if (m.assumptions.length) section('Assumptions', h('ul', null, m.assumptions.map(a => h('li', null, a))));
  found(m.inputs_found);
  if (m.stages.length) {
    section('Time and memory', h('h3', null, 'Seconds by stage'), bars(m.stages.map(s => [s.name, s.seconds, seconds(s.seconds)])),
      h('h3', null, 'Most memory until the end of each stage'), bars(m.stages.map(s => [s.name, s.peak_bytes, bytes(s.peak_bytes)])));
  }
  const operators = Object.entries(m.operators || {});
  if (graph) moduleTree(graph);
  if (operators.length)
    section('Operators', sortable('Operators', [
      {title: 'Operator', value: o => o[0], show: o => h('code', null, o[0])},
      {title: 'Nodes', value: o => o[1], number: true}], operators.sort((a, b) => b[1] - a[1])).element);
  graphSection(graph);
}

(function page() {
  const d = DATA.document, ok = d.exit_code === 0;
  const one = d.methods ? null : d;
  const word = ok ? {convert: 'converted', check: 'converts', verify: 'agrees'}[d.verb] : d.exit_code === 11 ? 'not fully verified' : 'failed';
  MAIN.append(h('h1', null, d.model.path), h('p', null, h('span', {class: 'badge ' + (ok ? 'good' : d.exit_code === 11 ? 'warn' : 'bad')}, word),
    ' onnx-export ' + d.verb + ', exit code ' + d.exit_code));
  const rows = [];
  const row = (name, value) => { if (value !== null && value !== undefined && value !== '') rows.push(h('dt', null, name), h('dd', null, value)); };
  if (one) {
    row('Output', one.output);
    row('Opset', one.opset || null);
    row('Nodes', one.nodes);
    row('Size', one.model_bytes ? bytes(one.model_bytes + (one.data_bytes || 0)) : null);
    row('Weights', one.parameter_bytes ? bytes(one.parameter_bytes) : null);
    row('Lowest opset', one.lowest_opset);
  }
  row('Compared file', d.file);
  row('Model size', d.model.bytes === null ? null : bytes(d.model.bytes));
  row('Model SHA-256', d.model.sha256 && h('code', null, d.model.sha256));
  row('Options', d.options.words.length ? h('code', null, d.options.words.join(' ')) : 'none');
  row('Time', seconds(d.seconds));
  row('Tool', d.tool.name + ' ' + d.tool.version);
  MAIN.append(h('dl', null, rows));
  if (one) method(one, DATA.graphs[one.method] || Object.values(DATA.graphs)[0]);
  else {
    if (d.problems.length) section('Problems', problems(d.problems));
    for (const [name, m] of Object.entries(d.methods)) method(m, DATA.graphs[name], name);
  }
  MAIN.append(h('footer', null, 'Made by onnx-export ' + d.tool.version + '.'));
})();
