// Puts the parts together once the data are unpacked.

async function embed(name) {
  const { doc, root_id } = data.charts[name];
  const views = await Bokeh.embed.embed_item({ doc, root_id, target_id: name }, name);
  const [view] = [...views.roots];
  view.canvas.events_el.tabIndex = -1; // the drawing around it has the focus, and a name
  return view;
}

function wireGraph(graph, view, table) {
  const slider = find("threshold");
  slider.addEventListener("input", () => {
    graph.setThreshold(Number(slider.value));
    if (find("kind").value === "found") table.select();
  });
  find("variables").append(...data.names.map((name) => {
    const option = element("option");
    option.value = name;
    return option;
  }));
  const search = find("search");
  search.addEventListener("input", () => {
    const wanted = search.value.trim().toLowerCase();
    const lower = data.names.map((name) => name.toLowerCase());
    const exact = data.names.indexOf(search.value) >= 0 ? data.names.indexOf(search.value) : lower.indexOf(wanted);
    const node = exact >= 0 ? exact : lower.findIndex((name) => name.startsWith(wanted));
    graph.open(wanted === "" || node < 0 ? null : node);
  });
  find("zoom-in").addEventListener("click", () => graph.zoom(0.7));
  find("zoom-out").addEventListener("click", () => graph.zoom(1 / 0.7));
  find("whole").addEventListener("click", () => { search.value = ""; graph.whole(); });
  find("save").addEventListener("click", async () => {
    const link = element("a");
    link.href = URL.createObjectURL(await view.export("png").to_blob());
    link.download = "graph.png";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
}

// A narrow window has lower drawings, and room for names on the right.
function fitWindow(graph, matrix) {
  const width = find("graph").clientWidth;
  if (width >= 520) return;
  graph.height = 400;
  graph.x_range.end = 1.25;
  matrix.height = width + 20;
}

async function start() {
  const pairs = await loadPairs();
  const [graphView, matrixView] = [await embed("graph"), await embed("matrix")];
  fitWindow(graphView.model, matrixView.model);
  const graph = new Graph(pairs, graphView.model);
  const goTo = (row) => {
    graph.open(null);
    graph.look(row);
    find("graph-part").scrollIntoView();
    find("graph").focus({ preventScroll: true });
  };
  const table = new Table(pairs, goTo, () => graph.threshold);
  const matrix = new MatrixView(pairs, matrixView.model, goTo);
  for (const radio of document.querySelectorAll('input[name="view"]')) {
    radio.addEventListener("change", () => matrix.show(radio.value));
  }
  wireGraph(graph, graphView, table);
  find("edge-ramp").style.background = `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map(shade).join(", ")})`;
  graph.setThreshold(data.threshold);
  graph.look(null);
  matrix.show("probability");
  document.body.dataset.ready = "yes";
}

start().catch((error) => {
  const problem = find("problem");
  problem.hidden = false;
  problem.textContent = `The drawings could not be made (${error.message}). A browser of 2023 or later is needed.`;
});
