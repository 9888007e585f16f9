// The graph as nested boxes, one a module, drawn on a canvas. Only what lies in view is drawn.
const GAP = 18, LAYER_GAP = 34, TITLE = 24, PAD = 12;

// The boxes: leaves are nodes, groups are modules, or nodes with graphs of their own. Each group
// knows the edges between its children, and which of them read what comes from outside.
function boxesOf(graph) {
  const root = {label: 'model', path: '', children: [], parent: null, depth: 0, node: -1, open: true, edges: new Map(), entered: new Set(), total: 0};
  const groups = new Map([['', root]]);
  function groupAt(path) {
    if (groups.has(path)) return groups.get(path);
    const dot = path.lastIndexOf('.');
    const parent = groupAt(dot < 0 ? '' : path.slice(0, dot));
    return add(parent, path, path.slice(dot + 1), -1);
  }
  function add(parent, path, label, node) {
    const g = {label, path, children: [], parent, depth: parent.depth + 1, node, open: false, edges: new Map(), entered: new Set(), total: 0, index: parent.children.length};
    parent.children.push(g);
    groups.set(path, g);
    return g;
  }
  const boxesByNode = [];
  const holders = new Set(graph.nodes.map(n => n.holder).filter(i => i >= 0));
  const module = n => n.origin >= 0 ? graph.origins[n.origin].module : '';
  const boxes = graph.nodes.map((n, i) => {
    const parent = n.holder >= 0 && boxesByNode[n.holder] ? boxesByNode[n.holder] : groupAt(module(n));
    const box = holders.has(i) ? add(parent, parent.path + '\u0000' + n.name, n.op, i)
      : {node: i, parent, depth: parent.depth + 1, index: parent.children.push(null) - 1, label: n.op};
    parent.children[box.index] = box;
    for (let g = parent; g; g = g.parent) ++g.total;
    boxesByNode[i] = box;
    return box;
  });
  const producer = new Map();
  graph.nodes.forEach((n, i) => n.outputs.forEach(o => { if (o) producer.set(o, boxes[i]); }));
  const port = (name, kind) => {
    const box = {node: -1, port: name, kind, parent: root, depth: 1, index: root.children.length, label: name};
    root.children.push(box);
    return box;
  };
  for (const name of graph.inputs) producer.set(name, port(name, 'input'));
  function connect(from, to) {
    if (from === to) return;
    const enter = () => { to.parent.entered.add(to.index); to = to.parent; };
    while (from.depth > to.depth) from = from.parent;
    while (to.depth > from.depth) enter();
    while (from.parent !== to.parent) { from = from.parent; enter(); }
    if (from !== to) from.parent.edges.set(from.index * 1e6 + to.index, [from.index, to.index]);
  }
  graph.nodes.forEach((n, i) => n.inputs.forEach(v => { if (producer.has(v)) connect(producer.get(v), boxes[i]); }));
  for (const name of graph.outputs) if (producer.has(name)) connect(producer.get(name), port(name, 'output'));
  return {root, boxes, producer, groups};
}

// Sets x, y, w, h of the children, relative to the group, and its own size.
function layOut(group) {
  const items = group.children, k = items.length;
  for (const c of items) {
    if (c.children && c.open) { layOut(c); continue; }
    c.w = Math.max(64, 7.4 * Math.min(c.label.length + (c.children ? 2 : 0), 34) + 24);
    c.h = c.children ? 40 : 28;
  }
  const next = items.map(() => []), before = items.map(() => []), waits = new Int32Array(k);
  for (const [a, b] of group.edges.values()) { next[a].push(b); before[b].push(a); ++waits[b]; }
  const rank = new Int32Array(k), done = new Uint8Array(k), ready = [];
  for (let i = 0; i < k; ++i) if (!waits[i]) ready.push(i);
  let scan = 0;
  for (let placed = 0, at = 0; placed < k; ++placed) {
    if (at === ready.length) {  // a module that is entered twice makes a circle
      while (done[scan]) ++scan;
      ready.push(scan);
    }
    const i = ready[at++];
    if (done[i]) { --placed; continue; }
    done[i] = 1;
    for (const j of next[i]) {
      if (done[j]) continue;
      rank[j] = Math.max(rank[j], rank[i] + 1);
      if (--waits[j] === 0) ready.push(j);
    }
  }
  const layers = [];
  for (let i = 0; i < k; ++i) (layers[rank[i]] ||= []).push(i);
  const filled = layers.filter(Boolean);
  const center = new Float64Array(k);
  const mean = (list, otherwise) => {
    let sum = 0, n = 0;
    for (const j of list) { sum += center[j]; ++n; }
    return n ? sum / n : otherwise;
  };
  let y = TITLE + PAD;
  for (const layer of filled) {
    const wish = new Map(layer.map(i => [i, mean(before[i], 0)]));
    layer.sort((a, b) => wish.get(a) - wish.get(b) || a - b);
    let right = -Infinity, off = 0, height = 0;
    for (const i of layer) {
      const x = Math.max(wish.get(i) - items[i].w / 2, right + GAP);
      items[i].x = x;
      right = x + items[i].w;
      off += wish.get(i) - (x + items[i].w / 2);
      height = Math.max(height, items[i].h);
    }
    off /= layer.length;
    for (const i of layer) {
      items[i].x += off;
      items[i].y = y + (height - items[i].h) / 2;
      center[i] = items[i].x + items[i].w / 2;
    }
    y += height + LAYER_GAP;
  }
  let left = Infinity, right = -Infinity;
  for (const c of items) { left = Math.min(left, c.x); right = Math.max(right, c.x + c.w); }
  if (!k) { left = 0; right = 60; }
  for (const c of items) c.x += PAD - left;
  group.w = Math.max(right - left + 2 * PAD, 7.4 * Math.min(group.label.length + 4, 40) + 24);
  group.h = y - (k ? LAYER_GAP : 0) + PAD;
}

class GraphView {
  constructor(graph, onSelect) {
    this.graph = graph;
    this.onSelect = onSelect;
    Object.assign(this, boxesOf(graph));
    this.canvas = h('canvas', {tabindex: 0, role: 'img', 'aria-label':
      'Graph of ' + count(graph.nodes.length, 'node') + '. Arrow keys move, plus and minus zoom, 0 shows all. The search below lists nodes by name.'});
    this.status = h('span', {role: 'status', class: 'soft'});
    if (graph.nodes.length <= 60) this.each(g => { g.open = true; });
    this.scale = 1; this.x = 0; this.y = 0;
    this.selected = null;
    this.listen();
    this.arrange();
    new ResizeObserver(() => { if (!this.fitted && this.canvas.clientWidth) { this.fitted = true; this.fit(); } else this.draw(); }).observe(this.canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
  }
  each(f, g = this.root) { for (const c of g.children) if (c.children) { f(c); this.each(f, c); } }
  arrange() {
    layOut(this.root);
    let n = 0;
    const add = g => { for (const c of g.children) { ++n; if (c.children && c.open) add(c); } };
    add(this.root);
    this.status.textContent = count(n, 'box').replace('boxs', 'boxes') + ' of ' + count(this.graph.nodes.length, 'node');
  }
  foldAll(open) { this.each(g => { g.open = open; }); this.arrange(); this.fit(); }
  toggle(g) { g.open = !g.open; this.arrange(); this.draw(); }
  fit() {
    const c = this.canvas, w = c.clientWidth || 800, ht = c.clientHeight || 500;
    this.scale = Math.min(1.2, w / this.root.w, Math.max(ht / this.root.h, 0.6));
    this.x = (w - this.root.w * this.scale) / 2;
    this.y = 0;
    this.draw();
  }
  place(box) {
    let x = 0, y = 0;
    for (let b = box; b.parent; b = b.parent) { x += b.x; y += b.y; }
    return {x, y};
  }
  show(box) {
    for (let g = box.parent; g; g = g.parent) g.open = true;
    this.selected = box;
    this.arrange();
    const at = this.place(box);
    this.scale = Math.max(this.scale, 0.8);
    this.x = this.canvas.clientWidth / 2 - (at.x + box.w / 2) * this.scale;
    this.y = this.canvas.clientHeight / 2 - (at.y + box.h / 2) * this.scale;
    this.draw();
    this.onSelect(box);
  }
  zoom(factor, cx = this.canvas.clientWidth / 2, cy = this.canvas.clientHeight / 2) {
    const s = Math.min(3, Math.max(0.01, this.scale * factor));
    this.x = cx - (cx - this.x) * s / this.scale;
    this.y = cy - (cy - this.y) * s / this.scale;
    this.scale = s;
    this.draw();
  }
  hit(px, py) {
    let x = (px - this.x) / this.scale, y = (py - this.y) / this.scale, g = this.root, found = null;
    for (;;) {
      const c = g.children.find(b => x >= b.x && x <= b.x + b.w && y >= b.y && y <= b.y + b.h);
      if (!c) return found;
      found = c;
      if (!c.children || !c.open) return c;
      x -= c.x; y -= c.y; g = c;
    }
  }
  listen() {
    const c = this.canvas;
    let from = null, moved = false;
    c.addEventListener('pointerdown', e => { from = [e.clientX, e.clientY]; moved = false; c.setPointerCapture(e.pointerId); });
    c.addEventListener('pointermove', e => {
      if (!from) return;
      if (Math.abs(e.clientX - from[0]) + Math.abs(e.clientY - from[1]) > 3) moved = true;
      this.x += e.clientX - from[0]; this.y += e.clientY - from[1];
      from = [e.clientX, e.clientY];
      this.draw();
    });
    c.addEventListener('pointerup', e => {
      from = null;
      if (moved) return;
      const r = c.getBoundingClientRect(), box = this.hit(e.clientX - r.left, e.clientY - r.top);
      if (!box) return;
      this.selected = box;
      this.onSelect(box);
      if (box.children) this.toggle(box); else this.draw();
    });
    c.addEventListener('wheel', e => {
      if (!e.ctrlKey && !e.metaKey && document.activeElement !== c) return;
      e.preventDefault();
      const r = c.getBoundingClientRect();
      this.zoom(Math.exp(-e.deltaY / 400), e.clientX - r.left, e.clientY - r.top);
    }, {passive: false});
    c.addEventListener('keydown', e => {
      const step = {ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60]}[e.key];
      if (step) { this.x += step[0]; this.y += step[1]; this.draw(); }
      else if (e.key === '+' || e.key === '=') this.zoom(1.25);
      else if (e.key === '-') this.zoom(0.8);
      else if (e.key === '0') this.fit();
      else return;
      e.preventDefault();
    });
  }
  draw() {
    const c = this.canvas, ratio = devicePixelRatio || 1, w = c.clientWidth, ht = c.clientHeight;
    if (!w) return;
    if (c.width !== w * ratio || c.height !== ht * ratio) { c.width = w * ratio; c.height = ht * ratio; }
    const style = getComputedStyle(document.documentElement), color = n => style.getPropertyValue(n).trim();
    this.colors = {fore: color('--fore'), soft: color('--soft'), line: color('--line'), back: color('--back'), panel: color('--panel'), accent: color('--accent'), good: color('--good')};
    const t = this.ctx = c.getContext('2d');
    t.setTransform(ratio, 0, 0, ratio, 0, 0);
    t.clearRect(0, 0, w, ht);
    t.translate(this.x, this.y);
    t.scale(this.scale, this.scale);
    this.view = {left: -this.x / this.scale, top: -this.y / this.scale, right: (w - this.x) / this.scale, bottom: (ht - this.y) / this.scale};
    t.textBaseline = 'middle';
    this.drawGroup(this.root, 0, 0);
  }
  outside(x, y, w, ht) { const v = this.view; return x > v.right || x + w < v.left || y > v.bottom || y + ht < v.top; }
  drawGroup(g, ox, oy) {
    const t = this.ctx, k = this.colors;
    t.strokeStyle = k.soft;
    t.lineWidth = 1 / Math.max(this.scale, 0.3);
    t.beginPath();
    for (const [a, b] of g.edges.values()) {
      const p = g.children[a], q = g.children[b];
      const x1 = ox + p.x + p.w / 2, y1 = oy + p.y + p.h, x2 = ox + q.x + q.w / 2, y2 = oy + q.y;
      if (this.outside(Math.min(x1, x2), Math.min(y1, y2), Math.abs(x1 - x2) + 1, Math.abs(y1 - y2) + 1)) continue;
      const m = Math.min(40, Math.abs(y2 - y1) / 2);
      t.moveTo(x1, y1);
      t.bezierCurveTo(x1, y1 + m, x2, y2 - m, x2, y2);
    }
    t.stroke();
    t.strokeStyle = k.line;
    t.beginPath();
    for (const i of g.entered) {
      const q = g.children[i], x1 = ox + g.w / 2, y1 = oy + TITLE - 4, x2 = ox + q.x + q.w / 2, y2 = oy + q.y;
      if (this.outside(Math.min(x1, x2), y1, Math.abs(x1 - x2) + 1, y2 - y1)) continue;
      t.moveTo(x1, y1);
      const around = y2 - y1 > 60 ? q.w / 2 + 16 : 0, bend = around ? 30 : 8;  // boxes lie between
      t.bezierCurveTo(x2 + around, y1 + bend, x2 + around, y2 - bend, x2, y2);
    }
    t.stroke();
    for (const b of g.children) {
      const x = ox + b.x, y = oy + b.y;
      if (this.outside(x, y, b.w, b.h)) continue;
      const chosen = b === this.selected;
      t.fillStyle = b.children && b.open ? k.panel : k.back;
      t.strokeStyle = chosen ? k.accent : b.port ? k.good : b.children ? k.fore : k.line;
      t.lineWidth = chosen ? 3 : 1;
      t.beginPath();
      t.roundRect(x, y, b.w, b.h, b.port ? 12 : 5);
      t.fill();
      t.stroke();
      if (this.scale > 0.3) {
        t.fillStyle = k.fore;
        const cut = s => s.length > 36 ? s.slice(0, 35) + '\u2026' : s;
        if (b.children && b.open) {
          t.font = '600 12px system-ui, sans-serif';
          t.fillText('\u2212 ' + cut(b.label), x + 8, y + TITLE / 2 + 2);
        } else {
          t.textAlign = 'center';
          t.font = (b.children ? '600 ' : '') + '12px system-ui, sans-serif';
          t.fillText((b.children ? '+ ' : '') + cut(b.label), x + b.w / 2, y + (b.children ? 14 : b.h / 2));
          if (b.children) {
            t.font = '11px system-ui, sans-serif';
            t.fillStyle = k.soft;
            t.fillText(count(b.total, 'node'), x + b.w / 2, y + 28);
          }
          t.textAlign = 'left';
        }
      }
      if (b.children && b.open) this.drawGroup(b, x, y);
    }
  }
}
