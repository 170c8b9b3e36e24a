// The table of pairs: filtered, sorted, a page at a time.

const PAGE = 50;
const TITLES = {
  source: "variable", target: "variable", probability: "probability", low: "low", high: "high",
  edge: "edge", known: "known", partial_correlation: "partial correlation",
};

class Table {
  constructor(pairs, choose, threshold) {
    Object.assign(this, { pairs, choose, threshold, sorted: null, down: true, page: 0 });
    this.heads = pairs.columns.map((name) => this.head(name));
    const row = element("tr");
    row.append(...this.heads);
    find("table").tHead.append(row);
    for (const id of ["filter", "least", "kind"]) {
      find(id).addEventListener("input", () => this.select());
    }
    const last = () => Math.max(Math.ceil(this.rows.length / PAGE) - 1, 0);
    const turn = { first: () => 0, back: () => this.page - 1, next: () => this.page + 1, last };
    for (const [id, page] of Object.entries(turn)) {
      find(id).addEventListener("click", () => { this.page = page(); this.show(); });
    }
    find("download").addEventListener("click", () => this.download());
    this.select();
  }

  head(name) {
    const cell = element("th");
    cell.scope = "col";
    const words = TITLES[name] ?? name.replace(/_/g, " ").replace("log odds", "log-odds");
    const button = element("button", words);
    button.type = "button";
    button.dataset.column = name;
    button.setAttribute("aria-label", `Sort by ${name.replace(/_/g, " ")}`);
    button.addEventListener("click", () => this.sort(name));
    cell.append(button);
    return cell;
  }

  sort(name) {
    const words = WORDS.includes(name);
    this.down = this.sorted === name ? !this.down : !words;
    this.sorted = name;
    this.heads.forEach((head) => {
      const mine = head.firstChild.dataset.column === name;
      if (mine) head.setAttribute("aria-sort", this.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
      const title = head.firstChild.textContent.replace(/ [▲▼]$/, "");
      head.firstChild.textContent = mine ? `${title} ${this.down ? "▼" : "▲"}` : title;
    });
    this.select();
  }

  keep() {
    const { pairs } = this;
    const text = find("filter").value.toLowerCase();
    const least = Number(find("least").value) || 0;
    const kind = find("kind").value;
    const threshold = this.threshold();
    const has = data.names.map((name) => name.toLowerCase().includes(text));
    const kinds = {
      all: () => true,
      unknown: (row) => !pairs.known[row],
      known: (row) => pairs.known[row],
      found: (row) => !pairs.known[row] && pairs.probability[row] >= threshold,
    };
    const rows = [];
    for (let row = 0; row < pairs.count; row += 1) {
      if (pairs.probability[row] < least || !kinds[kind](row)) continue;
      if (has[pairs.source[row]] || has[pairs.target[row]]) rows.push(row);
    }
    return rows;
  }

  // Numbers by size, names as a reader sorts them; what is missing comes last.
  order() {
    const column = this.pairs[this.sorted];
    const way = this.down ? -1 : 1;
    let key = (row) => column[row];
    if (WORDS.includes(this.sorted)) {
      const compare = new Intl.Collator("en", { numeric: true }).compare;
      const order = data.names.map((_, i) => i).sort((a, b) => compare(data.names[a], data.names[b]));
      const rank = new Int32Array(order.length);
      order.forEach((node, r) => { rank[node] = r; });
      key = (row) => rank[column[row]];
    }
    return (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y) || a - b;
      return way * (x - y) || a - b;
    };
  }

  select() {
    this.rows = this.keep();
    if (this.sorted !== null) this.rows.sort(this.order());
    this.page = 0;
    this.show();
  }

  show() {
    const pages = Math.max(Math.ceil(this.rows.length / PAGE), 1);
    const from = this.page * PAGE;
    const shown = this.rows.slice(from, from + PAGE);
    find("table").tBodies[0].replaceChildren(...shown.map((row) => this.line(row)));
    const count = this.rows.length.toLocaleString("en");
    find("caption").textContent = `${count} of ${this.pairs.count.toLocaleString("en")} pairs; log-odds are of an edge`;
    find("page").textContent = `Page ${this.page + 1} of ${pages}`;
    for (const id of ["first", "back"]) find(id).disabled = this.page === 0;
    for (const id of ["next", "last"]) find(id).disabled = this.page >= pages - 1;
  }

  line(row) {
    const line = element("tr");
    line.dataset.row = row;
    this.pairs.columns.forEach((name) => {
      const cell = element("td");
      const value = this.pairs[name][row];
      if (name === "source") cell.append(this.link(row));
      else if (name === "target") cell.textContent = data.names[value];
      else cell.textContent = this.words(name, value);
      line.append(cell);
    });
    return line;
  }

  words(name, value) {
    if (name === "edge" || name === "known") return value ? "yes" : "no";
    if (["probability", "low", "high"].includes(name)) return value.toFixed(3);
    return signed(value);
  }

  link(row) {
    const button = element("button", data.names[this.pairs.source[row]]);
    button.type = "button";
    button.setAttribute("aria-label", `Show ${pairName(this.pairs, row)} in the graph`);
    button.addEventListener("click", () => this.choose(row));
    return button;
  }

  // Rows as edges.csv has them; all in the first order are that file.
  text() {
    const { text, starts } = this.pairs;
    const lines = this.rows.map((row) => text.slice(starts[row], starts[row + 1]));
    return text.slice(0, starts[0]) + lines.join("");
  }

  download() {
    const link = element("a");
    link.href = URL.createObjectURL(new Blob([this.text()], { type: "text/csv;charset=utf-8" }));
    link.download = "edges.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
}
