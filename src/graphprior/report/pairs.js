// Every pair, read from the text of edges.csv; names stay strings and are never markup.

const data = JSON.parse(document.getElementById("data").textContent);
const WORDS = ["source", "target"];

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

// One field from `at`: its text, and where the next begins. Quotes are doubled inside quotes.
function readField(text, at) {
  if (text[at] !== '"') {
    let end = at;
    while (end < text.length && text[end] !== "," && text[end] !== "\n") end += 1;
    return [text.slice(at, end), end];
  }
  let value = "";
  let from = at + 1;
  for (;;) {
    const quote = text.indexOf('"', from);
    value += text.slice(from, quote);
    if (text[quote + 1] !== '"') return [value, quote + 1];
    value += '"';
    from = quote + 2;
  }
}

function readRow(text, at) {
  const fields = [];
  for (;;) {
    const [value, end] = readField(text, at);
    fields.push(value);
    at = end + 1;
    if (text[end] !== ",") return [fields, at];
  }
}

// Columns as arrays of numbers; a missing number is NaN. `starts` tells where each row begins.
function readPairs(text, exact) {
  const index = new Map(data.names.map((name, i) => [name, i]));
  let [columns, at] = readRow(text, 0);
  const count = exact.length;
  const pairs = { count, columns, text, starts: new Int32Array(count + 1) };
  for (const name of columns) {
    pairs[name] = WORDS.includes(name) ? new Int32Array(count) : new Float64Array(count);
  }
  for (let row = 0; row < count; row += 1) {
    pairs.starts[row] = at;
    let fields;
    [fields, at] = readRow(text, at);
    columns.forEach((name, c) => {
      if (WORDS.includes(name)) pairs[name][row] = index.get(fields[c]);
      else pairs[name][row] = fields[c] === "" ? NaN : Number(fields[c]);
    });
  }
  pairs.starts[count] = text.length;
  pairs.probability = exact;
  return pairs;
}

async function loadPairs() {
  const [csv, exact] = await Promise.all([unpack(data.csv), unpack(data.probabilities)]);
  return readPairs(new TextDecoder("utf-8", { ignoreBOM: true }).decode(csv), new Float64Array(exact));
}

// What a threshold means: found edges, and how many are expected to be false or missed.
function weigh(pairs, threshold) {
  const found = [];
  let falseEdges = 0;
  let missed = 0;
  for (let row = 0; row < pairs.count; row += 1) {
    if (pairs.known[row]) continue;
    const p = pairs.probability[row];
    if (p >= threshold) {
      found.push(row);
      falseEdges += 1 - p;
    } else missed += p;
  }
  return { found, falseEdges, missed };
}

function signed(value) {
  return Number.isNaN(value) ? "–" : (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2);
}
