// The drawing: Bokeh has the canvas, this fills its sources.

const MOST_LINES = 5000; // more are a black disc, and slow
const MOST_LABELS = 40;
const THICK = Math.min(Math.max(Math.sqrt(60 / data.names.length), 0.45), 1); // many lines are thin

function lineColumns(pairs, rows, look) {
  const columns = { x0: [], y0: [], x1: [], y1: [], colour: [], width: [], alpha: [], pair: [] };
  for (const row of rows) {
    const [x0, y0] = data.places[pairs.source[row]];
    const [x1, y1] = data.places[pairs.target[row]];
    const { colour, width, alpha } = look(row);
    const values = { x0, y0, x1, y1, colour, width, alpha, pair: row };
    for (const name of Object.keys(columns)) columns[name].push(values[name]);
  }
  return columns;
}

function shade(p) {
  return data.colours.probability[Math.round(60 + 195 * p)];
}

class Graph {
  constructor(pairs, plot) {
    this.pairs = pairs;
    this.plot = plot;
    this.node = null;
    this.row = null;
    this.threshold = data.threshold;
    this.known = [];
    for (let row = 0; row < pairs.count; row += 1) {
      if (pairs.known[row] && pairs.edge[row]) this.known.push(row);
    }
    this.sources = {};
    for (const name of ["known-edges", "found-edges", "pair", "nodes"]) {
      this.sources[name] = plot.document.get_model_by_name(name);
    }
    this.listen();
  }

  listen() {
    for (const name of ["known-edges", "found-edges"]) {
      const source = this.sources[name];
      source.connect(source.inspect, () => {
        const [hit] = source.inspected.indices;
        if (hit !== undefined) this.hovered = source.data.pair[hit];
      });
      source.selected.connect(source.selected.properties.indices.change, () => {
        const [hit] = source.selected.indices;
        if (hit === undefined) return;
        this.look(source.data.pair[hit]);
        source.selected.indices = [];
      });
    }
    const { selected } = this.sources.nodes;
    selected.connect(selected.properties.indices.change, () => {
      const [hit] = selected.indices;
      if (hit === undefined) return;
      selected.indices = [];
      this.open(hit);
    });
    const { x_range: x, y_range: y } = this.plot;
    this.home = [x.start, x.end, y.start, y.end];
    x.connect(x.change, () => this.relabelSoon());
    this.listenToMouse();
    find("graph").addEventListener("keydown", (event) => this.key(event));
  }

  // Bokeh tells what is under the mouse while the event goes down; then it is shown.
  listenToMouse() {
    const tip = find("tip");
    find("graph").addEventListener("pointermove", (event) => {
      this.hovered = null;
      requestAnimationFrame(() => {
        const row = this.hovered;
        tip.hidden = row === null || row === undefined;
        if (tip.hidden) return;
        this.look(row);
        const p = this.pairs.probability[row];
        tip.textContent = `${pairName(this.pairs, row)}: ${this.pairs.known[row] ? "known" : p.toFixed(2)}`;
        tip.style.left = `${Math.min(event.clientX + 14, window.innerWidth - 200)}px`;
        tip.style.top = `${event.clientY + 16}px`;
      });
    }, { capture: true });
    find("graph").addEventListener("pointerleave", () => { tip.hidden = true; });
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") this.open(null);
    else if (event.key === "Enter" && this.row !== null) this.open(this.pairs.source[this.row]);
    else if (step) {
      const shown = this.shown();
      const next = shown.indexOf(this.row) + step;
      if (shown.length) this.look(shown[(next + shown.length) % shown.length]);
    } else return;
    event.preventDefault();
  }

  // Rows drawn now: found ones by probability, then known ones; of one variable if one is open.
  shown() {
    const rows = [...this.weighed.found.slice(0, MOST_LINES), ...this.known];
    return this.node === null ? rows : rows.filter((row) => this.touches(row));
  }

  touches(row) {
    return this.pairs.source[row] === this.node || this.pairs.target[row] === this.node;
  }

  setThreshold(threshold) {
    this.threshold = threshold;
    this.weighed = weigh(this.pairs, threshold);
    const { found, falseEdges, missed } = this.weighed;
    find("threshold-value").textContent = String(Number(threshold.toFixed(4)));
    find("found-count").textContent = found.length.toLocaleString("en");
    find("false-count").textContent = falseEdges.toFixed(2);
    find("missed-count").textContent = missed.toFixed(2);
    find("known-count").textContent = this.known.length.toLocaleString("en");
    const many = find("too-many");
    many.hidden = found.length <= MOST_LINES;
    many.textContent = many.hidden ? "" : `the ${MOST_LINES} likeliest are drawn`;
    this.draw();
  }

  open(node) {
    this.node = node;
    this.draw();
  }

  look(row) {
    this.row = row;
    showPair(this.pairs, row);
    const mark = () => ({ colour: data.colours.mark, width: 3, alpha: row === null ? 0 : 1 });
    this.sources.pair.data = lineColumns(this.pairs, row === null ? [] : [row], mark);
  }

  draw() {
    const far = (row) => this.node !== null && !this.touches(row);
    const found = this.weighed.found.slice(0, MOST_LINES);
    this.sources["known-edges"].data = lineColumns(this.pairs, this.known, (row) => (
      { colour: data.colours.known, width: 1.1, alpha: far(row) ? 0.08 : 0.6 }));
    // The likeliest last, on top.
    this.sources["found-edges"].data = lineColumns(this.pairs, found.slice().reverse(), (row) => {
      const p = this.pairs.probability[row];
      return { colour: shade(p), width: THICK * (1 + 3.5 * p), alpha: far(row) ? 0.08 : 0.95 };
    });
    this.degrees = new Int32Array(data.names.length);
    for (const row of [...found, ...this.known]) {
      this.degrees[this.pairs.source[row]] += 1;
      this.degrees[this.pairs.target[row]] += 1;
    }
    const rows = this.node === null ? [] : [...this.known, ...found].filter((row) => this.touches(row));
    this.near = new Set(rows.flatMap((row) => [this.pairs.source[row], this.pairs.target[row]]));
    if (this.node !== null) this.near.add(this.node);
    this.drawNodes();
    showNode(this.pairs, this.node, rows, (row) => this.look(row), () => this.open(null));
  }

  drawNodes() {
    const all = data.names.map((_, i) => i);
    const named = this.labelled();
    const small = data.names.length > 150 ? 4 : 8;
    this.sources.nodes.data = {
      x: data.places.map(([x]) => x),
      y: data.places.map(([, y]) => y),
      size: all.map((i) => small + Math.min(2 * Math.sqrt(this.degrees[i]), 9)),
      alpha: all.map((i) => (this.node === null || this.near.has(i) ? 1 : 0.15)),
      fill: all.map((i) => (i === this.node ? data.colours.mark : "#ffffff")),
      label: data.names.map((name, i) => (named.has(i) ? shortened(name) : "")),
    };
  }

  // Names of the best connected variables in sight that have room; all of a small graph.
  labelled() {
    const { x_range: x, y_range: y } = this.plot;
    const inSight = data.names.map((_, i) => i).filter((i) => {
      const [px, py] = data.places[i];
      const wanted = this.node === null || this.near.has(i);
      return wanted && px >= x.start && px <= x.end && py >= y.start && py <= y.end;
    });
    inSight.sort((a, b) => this.degrees[b] - this.degrees[a] || a - b);
    const all = data.names.length <= MOST_LABELS;
    const named = [];
    for (const i of inSight) {
      if (named.length === MOST_LABELS) break;
      if (all || !named.some((other) => this.crowds(i, other))) named.push(i);
    }
    return new Set(named);
  }

  // Whether names of two variables would lie on each other.
  crowds(i, other) {
    const { x_range: x, y_range: y } = this.plot;
    const [dx, dy] = [0, 1].map((axis) => Math.abs(data.places[i][axis] - data.places[other][axis]));
    return dx < 0.09 * (x.end - x.start) && dy < 0.035 * (y.end - y.start);
  }

  relabelSoon() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.drawNodes(), 80);
  }

  zoom(factor) {
    const middle = this.node === null ? null : data.places[this.node];
    [this.plot.x_range, this.plot.y_range].forEach((range, axis) => {
      const centre = middle === null ? (range.start + range.end) / 2 : middle[axis];
      const half = ((range.end - range.start) / 2) * factor;
      range.setv({ start: centre - half, end: centre + half });
    });
  }

  whole() {
    const [x0, x1, y0, y1] = this.home;
    this.plot.x_range.setv({ start: x0, end: x1 });
    this.plot.y_range.setv({ start: y0, end: y1 });
    this.look(null);
    this.open(null);
  }
}

function shortened(name) {
  const letters = Array.from(name);
  return letters.length > 22 ? `${letters.slice(0, 21).join("")}…` : name;
}
