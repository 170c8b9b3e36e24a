// What is known of one pair and of one variable, beside the graph. Text only, never markup.

const find = (id) => document.getElementById(id);

function element(tag, words, className) {
  const made = document.createElement(tag);
  if (words !== undefined) made.textContent = words;
  if (className) made.className = className;
  return made;
}

function pairName(pairs, row) {
  return `${data.names[pairs.source[row]]} – ${data.names[pairs.target[row]]}`;
}

function oneOf(pairs, row) {
  return pairs.known[row] ? (pairs.edge[row] ? "known edge" : "known: no edge") : "unknown pair";
}

// Bayes factors below 3 are barely worth a mention: say so.
function strength(logOdds) {
  const size = Math.abs(logOdds);
  const way = logOdds >= 0 ? "for an edge" : "against an edge";
  if (size < 1) return "The data hardly say anything about this pair: weak evidence.";
  if (size < 3) return `The data are positive but not strong evidence ${way}.`;
  return `The data are ${size < 5 ? "strong" : "very strong"} evidence ${way}.`;
}

function addFact(list, name, value, className) {
  list.append(element("dt", name), element("dd", value, className));
}

function addBar(list, value) {
  const bar = element("dd", undefined, "bar");
  const fill = element("i");
  const width = (Math.min(Math.abs(value), 8) / 8) * 50;
  fill.style.width = `${width}%`;
  fill.style.left = `${value < 0 ? 50 - width : 50}%`;
  fill.style.background = value < 0 ? "#b35806" : "#0b5394";
  bar.setAttribute("aria-hidden", "true");
  bar.append(fill);
  list.append(bar);
}

function showPair(pairs, row) {
  const panel = find("pair");
  if (row === null) {
    panel.replaceChildren(
      element("h3", "Pair"),
      element("p", "Point at an edge, step through edges with the arrow keys, or choose a pair in the table.", "hint"),
    );
    return;
  }
  const list = element("dl");
  addFact(list, pairs.known[row] ? "State" : data.meaning, pairs.known[row]
    ? oneOf(pairs, row) : pairs.probability[row].toFixed(3), "total");
  if (!pairs.known[row] && data.drawn) {
    addFact(list, "bounds from drawing (95%)", `${pairs.low[row].toFixed(2)} to ${pairs.high[row].toFixed(2)}`);
  }
  addFact(list, "partial correlation", signed(pairs.partial_correlation[row]));
  const parts = pairs.known[row] ? [] : data.parts;
  let sum = 0;
  for (const [column, words] of parts) {
    addFact(list, `${words}, log-odds`, signed(pairs[column][row]));
    addBar(list, pairs[column][row]);
    sum += pairs[column][row];
  }
  if (parts.length) addFact(list, "all together, log-odds", signed(sum), "total");
  panel.replaceChildren(element("h3", pairName(pairs, row)), list);
  if (!pairs.known[row] && parts.some(([column]) => column === "data_log_odds")) {
    panel.append(element("p", strength(pairs.data_log_odds[row]), "verdict"));
  }
  panel.dataset.row = row;
}

// Neighbours of a variable at the threshold: known ones, then found ones, likeliest first.
function showNode(pairs, node, rows, choose, leave) {
  const panel = find("node");
  panel.hidden = node === null;
  if (node === null) return;
  const list = element("ul", undefined, "neighbours");
  for (const row of rows) {
    const other = pairs.source[row] === node ? pairs.target[row] : pairs.source[row];
    const button = element("button");
    button.type = "button";
    button.append(
      element("span", data.names[other]),
      element("span", pairs.known[row] ? "known" : pairs.probability[row].toFixed(2)),
    );
    button.addEventListener("focus", () => choose(row));
    button.addEventListener("click", () => choose(row));
    const item = element("li");
    item.append(button);
    list.append(item);
  }
  const close = element("button", "Show all");
  close.type = "button";
  close.addEventListener("click", leave);
  const count = `${rows.length} neighbour${rows.length === 1 ? "" : "s"}`;
  panel.replaceChildren(element("h3", data.names[node]), element("p", count, "hint"), list, close);
}
