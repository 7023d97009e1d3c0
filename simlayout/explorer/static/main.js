// The bench's state, the question to Python, and the drawing of its answer.
let { state, view } = readLink();
let answer = null, cells = [], svg = null, runs = [], size = null, hover = null, cursor = null, moved = null;
let beforeSvg = null, beforeCells = [], slid = false, base = "", busy = false, again = false, changed = "", playing = 0;
const PAPER = 690;              // pixels that a page of paper is wide
const baseImage = document.createElement("canvas");
const scaleOf = () => (size && size.width * size.height > 4e6 ? 1 : window.devicePixelRatio || 1);

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

/** Sends the state to Python and shows what comes back; what is typed meanwhile is sent after it. what: that has changed, a
    step of undo. */
async function ask(what = "") {
  changed = what || changed;
  writeLink(state, view, what);
  if (exported) {
    const found = storedAnswer();
    if (!found.error) show(found);
    showFault(found.error ? found : null);
    return;
  }
  if (busy) { again = true; return; }
  busy = true;
  do {
    again = false;
    const began = performance.now(), [good, found] = await question("/api/answer");
    if (good && !again) show(withOffsets(found));
    if (!again) showFault(good ? null : found);
    document.body.dataset.answered = (performance.now() - began).toFixed(1);
  } while (again);
  busy = false;
  document.body.dataset.asked = Number(document.body.dataset.asked || 0) + 1;
}

/** [whether it was answered, the answer or the refusal] of a question about the state. */
async function question(path, asked = state) {
  try {
    const reply = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(asked) });
    return [reply.ok, path === "/api/export" && reply.ok ? await reply.text() : await reply.json()];
  } catch {
    return [false, { error: "the server does not answer: is `simlayout explore` still running?", field: "request" }];
  }
}

/** Draws an answer. */
function show(found) {
  answer = found;
  state.index = answer.instruction.index;
  state.shown = answer.state.shown;
  if (state.kernel && !state.layout) { state.layout = answer.layout; state.dtype = answer.dtype; showState(state); }
  if (state.kernel) { byId("op").value = answer.op; sayOp(answer.op); }
  withBanks(answer.tile, answer.instruction.banks);
  sayWords(chipOf(answer.arch), answer.instruction);
  moved = [];
  if (answer.before && answer.before.tile.offsets.length === answer.tile.offsets.length)
    answer.tile.offsets.forEach((offset, i) => { if (offset !== answer.before.tile.offsets[i]) moved.push(i); });
  cells = cellsOf(answer.instruction);
  beforeCells = answer.before ? cellsOf(answer.before.instruction) : [];
  if (!slid) { showSliders(answer.swizzle); base = answer.swizzle.base; }
  byId("swizzle").disabled = byId("layout").readOnly = answer.sliders === false;
  const drawn = slid || !answer.swizzle.b ? { b: Number(byId("b").value), m: Number(byId("m").value), s: Number(byId("s").value) } : answer.swizzle;
  byId("bits").replaceChildren(drawBits(drawn, answer.tile.bits, answer.tile.element_bytes, answer.instruction.banks, drag));
  byId("of-access").textContent = answer.accesses.length > 1 ? `of ${answer.name}` : "";
  byId("pin").textContent = answer.before ? "Unpin" : "Pin as before";
  showCounts(answer);
  showAccesses(answer, state, change);
  showStepper("index", answer.counts.wavefronts.length - 1, state.index, answer.instruction.loops || `${state.index}`);
  drawGrids();
  size = null;
  showStep();
  showCode();
  writeLink(state, view);
}

/** The grid of the layout, and beside it that of the pinned one. */
function drawGrids() {
  const before = answer.before, box = byId("grids").getBoundingClientRect();
  byId("before-box").hidden = !before;
  const say = (where, what, layout, its) => byId(where).replaceChildren(made("b", {}, what), ` ${layout}: ${waves(its.wavefronts)}, excess ${its.excess}`);
  const wide = isWide();
  const room = { width: printing ? PAPER : before && wide ? (box.width - 12) / 2 : box.width, height: wide ? Math.max(box.height - 22, 120) : printing ? 300 : 420 };
  say("after-title", before ? "after" : "", answer.layout, answer.instruction);
  svg = drawGrid(answer.instruction, cells, gridSize(answer.instruction, room));
  byId("grid").replaceChildren(svg);
  byId("grid").hidden = !cells.length;
  if (!before) { beforeSvg = null; byId("grid-before").replaceChildren(); return; }
  say("before-title", "before", before.layout, before.instruction);
  beforeSvg = drawGrid(before.instruction, beforeCells, gridSize(before.instruction, room));
  byId("grid-before").replaceChildren(beforeSvg);
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

/** The tile without marks, drawn once for every answer and step, and the overview beside it. */
function paintTile() {
  runs = tileRuns(answer, view.colour, row());
  const area = byId("tile-area"), wide = isWide();
  if (!area.clientWidth) { size = null; return; }              // another tab is open
  size = tileSize(answer.tile, { width: printing ? PAPER : area.clientWidth, height: wide ? area.clientHeight : 340 }, view.zoom - (view.zoom > 20 ? 40 : 0));
  const scale = scaleOf();
  for (const canvas of [baseImage, byId("tile")]) {
    canvas.width = Math.ceil(size.width * scale);
    canvas.height = Math.ceil(size.height * scale);
  }
  byId("tile").style.width = `${size.width}px`;
  byId("tile").style.height = `${size.height}px`;
  const context = baseImage.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  drawTile(context, answer.tile, runs, size, moved);
  byId("tile").getContext("2d").drawImage(baseImage, 0, 0);
  paintOverview();
}

/** A small picture of the whole tile with a frame around the part in sight; hidden where all of it is. */
function paintOverview() {
  const box = byId("tile-box"), map = byId("overview");
  map.hidden = !size || (size.width <= box.clientWidth + 4 && size.height <= box.clientHeight + 4);
  if (map.hidden) return;
  const by = Math.min(150 / size.width, 110 / size.height), context = map.getContext("2d");
  map.width = size.width * by;
  map.height = size.height * by;
  context.drawImage(baseImage, 0, 0, map.width, map.height);
  context.strokeStyle = "#d1242f";
  context.lineWidth = 2;
  context.strokeRect(box.scrollLeft * by, box.scrollTop * by, box.clientWidth * by, box.clientHeight * by);
}

/** Lights up what the pointer or the focus is on, or what is held, everywhere at once. */
function light() {
  if (!answer) return;
  const began = performance.now(), pick = hover || view.pinned, found = pick && partners(pick, answer, cells);
  lightGrid(svg, cells, found, row());
  const none = new Set(), active = new Set(answer.instruction.lanes.flatMap((its, lane) => (its.length ? [lane] : [])));
  const wanted = new Set(cells.flatMap((c) => Array.from({ length: c.width }, (_, i) => c.bank + i)));
  const held = (kind) => (view.pinned && view.pinned.kind === kind ? view.pinned.id : -1);
  lightKeys(laneKeys, answer.instruction.lanes.length, found ? found.lanes : none, found ? found.nearLanes : none, active, held("lane"));
  lightKeys(bankKeys, answer.instruction.banks, found ? found.banks : none, none, wanted, held("bank"));
  if (beforeSvg) lightGrid(beforeSvg, beforeCells, pick && (pick.kind === "lane" || pick.kind === "bank")
    ? partners(pick, { ...answer, tile: answer.tile, instruction: answer.before.instruction }, beforeCells) : null, row());
  if (size) {
    const context = byId("tile").getContext("2d"), scale = scaleOf();
    const box = byId("tile-box"), [x, y] = [Math.floor(box.scrollLeft), Math.floor(box.scrollTop)];
    const seen = { x, y, w: Math.min(box.clientWidth + 1, size.width - x), h: Math.min(box.clientHeight + 1, size.height - y) };
    const place = [x * scale, y * scale, seen.w * scale, seen.h * scale];
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(baseImage, ...place, ...place);
    context.setTransform(scale, 0, 0, scale, 0, 0);
    lightTile(context, answer.tile, found, cursor, size, baseImage, scale, seen);
  }
  byId("about").textContent = found ? found.text
    : "Point at a lane, a bank, a cell or an element, or reach it with Tab and the arrow keys; a click or Enter holds it.";
  document.body.dataset.lit = (performance.now() - began).toFixed(1);
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

/** Grid and tile as one SVG file, in light colours. */
function picture() {
  const drawn = drawGrid(answer.instruction, cells, NORMAL, palette(true)), [, , width, height] = drawn.getAttribute("viewBox").split(" ").map(Number);
  const at = tileSize(answer.tile, { width: width - 10, height: 520 }, 0), wide = Math.max(width, at.width + 10), high = height + at.height + 60;
  for (const [key, value] of Object.entries({ viewBox: `0 0 ${wide} ${high}`, width: wide, height: high })) drawn.setAttribute(key, value);
  drawn.prepend(shape(null, "rect", { width: wide, height: high, fill: "#fff" }));
  shape(drawn, "text", { x: 4, y: height + 16, "text-anchor": "start", "font-size": 12 },
    `${answer.op}, ${answer.dtype}: ${answer.layout}: ${waves(answer.instruction.wavefronts)}, ideal ${answer.instruction.ideal}`);
  tileShapes(shape(drawn, "g", { transform: `translate(0 ${height + 30})` }), answer.tile, runs, at);
  return new XMLSerializer().serializeToString(drawn);
}
