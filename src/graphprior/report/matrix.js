// The matrix: one picture whose cells are numbers from 0 to 255, coloured by one mapper.

const VIEWS = {
  known: {
    colours: "states", range: null,
    cell: (pairs, row) => (pairs.known[row] ? (pairs.edge[row] ? 255 : 128) : 0), diagonal: 128,
  },
  probability: {
    colours: "probability", range: [0, 1],
    cell: (pairs, row) => Math.round(255 * pairs.probability[row]), diagonal: 0,
  },
  correlation: {
    colours: "correlation", range: null,
    cell: (pairs, row, top) => Math.round(127.5 * (1 + pairs.partial_correlation[row] / top)), diagonal: 128,
  },
};

class MatrixView {
  constructor(pairs, plot, choose) {
    Object.assign(this, { pairs, plot, choose, n: data.names.length, at: null });
    this.rank = new Int32Array(this.n);
    data.order.forEach((node, rank) => { this.rank[node] = rank; });
    this.rows = new Int32Array(this.n * this.n).fill(-1);
    this.top = 1e-9;
    for (let row = 0; row < pairs.count; row += 1) {
      const [i, j] = [this.rank[pairs.source[row]], this.rank[pairs.target[row]]];
      this.rows[i * this.n + j] = this.rows[j * this.n + i] = row;
      this.top = Math.max(this.top, Math.abs(pairs.partial_correlation[row]));
    }
    this.model = (name) => plot.document.get_model_by_name(name);
    plot.on_event("mousemove", ({ x, y }) => this.move(this.n - 1 - Math.floor(y), Math.floor(x)));
    plot.on_event("tap", () => { if (this.current() >= 0) this.choose(this.current()); });
    find("matrix").addEventListener("keydown", (event) => this.key(event));
    for (const box of document.querySelectorAll("i.box")) box.style.background = box.dataset.colour;
  }

  show(name) {
    const view = VIEWS[name];
    const cells = this.model("cells");
    const [image] = cells.data.image;
    for (let at = 0; at < this.rows.length; at += 1) {
      image[at] = this.rows[at] < 0 ? view.diagonal : view.cell(this.pairs, this.rows[at], this.top);
    }
    const palette = data.colours[view.colours];
    const [low, high] = view.range ?? [-this.top, this.top];
    this.model("cell-colours").palette = palette;
    this.model("scale-colours").setv({ palette, low, high });
    this.model("scale").visible = name !== "known";
    for (const key of document.querySelectorAll(".state")) key.hidden = name !== "known";
    cells.change.emit();
  }

  current() {
    return this.at === null ? -1 : this.rows[this.at[0] * this.n + this.at[1]];
  }

  move(i, j) {
    if (!(i >= 0 && j >= 0 && i < this.n && j < this.n)) return;
    if (this.at !== null && this.at[0] === i && this.at[1] === j) return;
    this.at = [i, j];
    this.model("cursor").data = { x: [j + 0.5], y: [this.n - i - 0.5] };
    const row = this.current();
    find("cell").textContent = row < 0 ? data.names[data.order[i]] : this.words(row);
  }

  words(row) {
    const { pairs } = this;
    const p = pairs.known[row] ? oneOf(pairs, row) : `${data.meaning} ${pairs.probability[row].toFixed(3)}`;
    return `${pairName(pairs, row)}: ${p}, partial correlation ${signed(pairs.partial_correlation[row])}`;
  }

  key(event) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const step = steps[event.key];
    if (step) {
      const [i, j] = this.at ?? [0, 0];
      this.move(Math.min(Math.max(i + step[0], 0), this.n - 1), Math.min(Math.max(j + step[1], 0), this.n - 1));
    } else if (event.key === "Enter" && this.current() >= 0) this.choose(this.current());
    else return;
    event.preventDefault();
  }
}
