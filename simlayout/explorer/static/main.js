// The page's state and its events.
let { state, view } = readLink();
let answer = null, cells = [], svg = null, runs = [], size = null, hover = null, cursor = null;
let slid = false, base = "", busy = false, again = false;
const baseImage = document.createElement("canvas");

const picked = {
  enter(pick) { hover = pick; light(); },
  leave() { hover = null; light(); },
  hold(pick) {
    const same = view.pinned && view.pinned.kind === pick.kind && view.pinned.id === pick.id;
    view.pinned = same ? null : pick;
    writeLink(state, view);
    light();
  },
};

/** Sends the state to Python and shows what comes back; what is typed meanwhile is sent after it. */
async function ask() {
  writeLink(state, view);
  if (exported) { show({ ...data.answer, instruction: stored(state.index) }); return; }
  if (busy) { again = true; return; }
  busy = true;
  do {
    again = false;
    const began = performance.now();
    const [good, found] = await question("/api/answer").then(async (reply) => [reply.ok, await reply.json()])
      .catch(() => [false, { error: "the server does not answer: is `simlayout explore` still running?", field: "request" }]);
    if (good && !again) show(found);
    if (!again) showFault(good ? null : found);
    document.body.dataset.answered = (performance.now() - began).toFixed(1);
  } while (again);
  busy = false;
  document.body.dataset.asked = Number(document.body.dataset.asked || 0) + 1;
}

const question = (path) => fetch(path, { method: "POST", headers: { "Content-Type": "application/json" },
                                         body: JSON.stringify(state) });
const stored = (index) => data.instructions[Math.min(index, data.instructions.length - 1)];

/** Draws an answer. */
function show(found) {
  answer = found;
  state.index = answer.instruction.index;
  cells = cellsOf(answer.instruction);
  if (!slid) { showSliders(answer.swizzle); base = answer.swizzle.base; }
  byId("swizzle").disabled = false;
  showCounts(answer);
  const last = (exported ? data.instructions : answer.counts.wavefronts).length - 1;
  const fewer = last + 1 < answer.counts.wavefronts.length ? ` (of ${answer.counts.wavefronts.length}, the first ${last + 1} are stored)` : "";
  showStepper("index", last, state.index, (answer.instruction.loops || `${state.index}`) + fewer);
  svg = drawGrid(answer.instruction, cells);
  byId("grid").replaceChildren(svg);
  byId("grid").hidden = !cells.length;
  size = null;
  showStep();
  writeLink(state, view);
}

/** The current wavefront, counted over the instruction; null for all of them. */
function row() {
  return view.step ? view.step - 1 : null;
}

function showStep() {
  const most = answer.instruction.phases.reduce((sum, phase) => sum + phase.wavefronts, 0);
  view.step = Math.min(view.step, most);
  const phase = answer.instruction.phases.findIndex((p) => row() !== null && p.first <= row() && row() < p.first + p.wavefronts);
  showStepper("step", most, view.step, view.step ? `${row()} of ${most}, phase ${phase}` : `all ${most}`);
  paintTile();
  light();
}

/** The tile without marks, drawn once for every answer and step. */
function paintTile() {
  runs = tileRuns(answer, view.colour, row());
  size = tileSize(answer.tile, byId("tile-box").clientWidth);
  const scale = window.devicePixelRatio || 1;
  for (const canvas of [baseImage, byId("tile")]) {
    canvas.width = size.width * scale;
    canvas.height = size.height * scale;
  }
  byId("tile").style.width = `${size.width}px`;
  byId("tile").style.height = `${size.height}px`;
  const context = baseImage.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  drawTile(context, answer.tile, runs, size);
}

/** Lights up what the pointer or the focus is on, or what is held, everywhere at once. */
function light() {
  if (!answer || !size) return;
  const pick = hover || view.pinned, found = pick && partners(pick, answer, cells);
  lightGrid(svg, cells, found, row());
  const none = new Set(), active = new Set(answer.instruction.lanes.flatMap((its, lane) => (its.length ? [lane] : [])));
  const wanted = new Set(cells.flatMap((c) => Array.from({ length: c.width }, (_, i) => c.bank + i)));
  const held = (kind) => (view.pinned && view.pinned.kind === kind ? view.pinned.id : -1);
  lightKeys(laneKeys, found ? found.lanes : none, found ? found.nearLanes : none, active, held("lane"));
  lightKeys(bankKeys, found ? found.banks : none, none, wanted, held("bank"));
  const context = byId("tile").getContext("2d"), scale = window.devicePixelRatio || 1;
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.drawImage(baseImage, 0, 0);
  context.setTransform(scale, 0, 0, scale, 0, 0);
  lightTile(context, answer.tile, found, cursor, size);
  byId("about").textContent = found ? found.text
    : "Point at a lane, a bank, a cell or an element, or reach it with Tab and the arrow keys; a click or Enter holds it.";
}

function step(name, by) {
  const range = byId(name), next = Number(range.value) + by;
  if (next < 0 || next > Number(range.max)) return;
  range.value = next;
  range.dispatchEvent(new Event("input"));
}

/** The element under the pointer, or null. */
function elementAt(event) {
  const box = byId("tile").getBoundingClientRect();
  const c = Math.floor((event.clientX - box.left - MARGIN.left) / size.cw), r = Math.floor((event.clientY - box.top - MARGIN.top) / size.ch);
  const inside = c >= 0 && r >= 0 && c < answer.tile.shown_columns && r < answer.tile.shown_rows;
  return inside ? r * answer.tile.columns + c : null;
}

/** What of the grid an event is about, or null. */
function gridPick(event) {
  const part = event.target.closest("[data-cell], [data-bank]");
  if (!part) return null;
  return part.dataset.cell ? { kind: "cell", id: Number(part.dataset.cell) } : { kind: "bank", id: Number(part.dataset.bank) };
}

function moveCursor(event) {
  const { columns, shown_columns: wide, shown_rows: high } = answer.tile;
  let r = cursor === null ? 0 : Math.floor(cursor / columns), c = cursor === null ? 0 : cursor % columns;
  const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], PageUp: [-8, 0], PageDown: [8, 0],
                  Home: [0, -wide], End: [0, wide] };
  if (event.key === "Enter" || event.key === " ") picked.hold({ kind: "element", id: r * columns + c });
  else if (!moves[event.key]) return;
  else {
    r = Math.max(0, Math.min(high - 1, r + moves[event.key][0]));
    c = Math.max(0, Math.min(wide - 1, c + moves[event.key][1]));
  }
  event.preventDefault();
  cursor = r * columns + c;
  picked.enter({ kind: "element", id: cursor });
}

/** Grid and tile as one SVG file, with what is lit. */
function picture() {
  const made = svg.cloneNode(true), [, , width, height] = made.getAttribute("viewBox").split(" ").map(Number);
  const wide = Math.max(width, size.width + 10), high = height + size.height + 60;
  for (const [key, value] of Object.entries({ viewBox: `0 0 ${wide} ${high}`, width: wide, height: high })) made.setAttribute(key, value);
  const ground = shape(null, "rect", { width: wide, height: high, fill: "#fff" });
  made.prepend(ground);
  shape(made, "text", { x: 4, y: height + 16, "text-anchor": "start", "font-size": 12 },
    `${answer.op}, ${answer.dtype}: ${answer.layout}: ${answer.instruction.wavefronts} wavefronts, ideal ${answer.instruction.ideal}`);
  tileShapes(shape(made, "g", { transform: `translate(0 ${height + 30})` }), answer.tile, runs, size);
  return new XMLSerializer().serializeToString(made);
}

preparePanels();
showState(state);
byId("colour").value = view.colour;
const laneKeys = makeKeys(byId("lane-keys"), "lane", picked), bankKeys = makeKeys(byId("bank-keys"), "bank", picked);
laneKeys.forEach((key, lane) => { key.style.background = data.colours[lane % data.colours.length]; });

for (const name of FIELDS) byId(name).addEventListener(byId(name).tagName === "SELECT" ? "change" : "input", () => {
  state[name] = byId(name).value;
  slid = false;
  if (name === "layout") byId("swizzle").disabled = true;      // until Python has read the text
  view.pinned = null;
  ask();
});
byId("layout").addEventListener("keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
byId("question").addEventListener("submit", (event) => event.preventDefault());
byId("preset").addEventListener("change", () => {
  const chosen = data.presets[byId("preset").value];
  if (!chosen) return;
  state = { ...chosen.state };
  view = { ...view, step: 0, pinned: null };
  slid = false;
  showState(state);
  ask();
});
for (const name of ["b", "m", "s"]) byId(name).addEventListener("input", () => {
  const [b, m, s] = ["b", "m", "s"].map((part) => Number(byId(part).value));
  state.layout = b ? `Sw<${b},${m},${s}> o ${base}` : base;
  byId("layout").value = state.layout;
  slid = true;
  sayLabels();
  ask();
});
byId("index").addEventListener("input", () => { state.index = Number(byId("index").value); ask(); });
byId("step").addEventListener("input", () => { view.step = Number(byId("step").value); showStep(); writeLink(state, view); });
for (const button of document.querySelectorAll("[data-step]"))
  button.addEventListener("click", () => step(button.dataset.step, Number(button.dataset.by)));
byId("colour").addEventListener("change", () => { view.colour = byId("colour").value; showStep(); writeLink(state, view); });

byId("grid").addEventListener("pointerover", (event) => { const pick = gridPick(event); if (pick) picked.enter(pick); else picked.leave(); });
byId("grid").addEventListener("pointerleave", picked.leave);
byId("grid").addEventListener("click", (event) => { const pick = gridPick(event); if (pick) picked.hold(pick); });
byId("grid").addEventListener("keydown", (event) => {
  const [name, by] = { ArrowLeft: ["step", -1], ArrowUp: ["step", -1], ArrowRight: ["step", 1], ArrowDown: ["step", 1],
                       PageUp: ["index", -1], PageDown: ["index", 1] }[event.key] || [];
  if (!name) return;
  event.preventDefault();
  step(name, by);
});
byId("tile").addEventListener("pointermove", (event) => {
  const id = elementAt(event);
  if (id === null) picked.leave();
  else if (!hover || hover.kind !== "element" || hover.id !== id) picked.enter({ kind: "element", id });
});
byId("tile").addEventListener("pointerleave", picked.leave);
byId("tile").addEventListener("click", (event) => { const id = elementAt(event); if (id !== null) picked.hold({ kind: "element", id }); });
byId("tile").addEventListener("keydown", moveCursor);
byId("tile").addEventListener("blur", () => { cursor = null; picked.leave(); });
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  view.pinned = hover = cursor = null;
  writeLink(state, view);
  light();
});

byId("copy").addEventListener("click", async () => {
  try {
    await navigator.clipboard.writeText(location.href);
    byId("told").textContent = "The link is copied.";
  } catch {
    byId("told").textContent = `The link: ${location.href}`;
  }
});
byId("export-svg").addEventListener("click", () => offer("simlayout.svg", "image/svg+xml", picture()));
byId("export-html").addEventListener("click", async () => {
  const reply = await question("/api/export").catch(() => null);
  if (reply && reply.ok) offer("simlayout.html", "text/html", await reply.text());
  else byId("told").textContent = "Nothing to export: mend the fault first.";
});
window.addEventListener("hashchange", () => {
  ({ state, view } = readLink());
  slid = false;
  showState(state);
  byId("colour").value = view.colour;
  ask();
});
window.addEventListener("resize", () => { if (answer) showStep(); });
ask();
