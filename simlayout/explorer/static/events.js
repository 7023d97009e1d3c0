// What is done with mouse, keys and history, and what follows from it.

/** The whole bench becomes another one. */
function become(next, what) {
  state = { ...structuredClone(data.state), before: "", kernel: "", part: 0, shown: 0, index: 0, ...structuredClone(next) };
  view = { ...view, step: 0, pinned: null };
  slid = false;
  showState(state);
  return ask(what);
}

const change = {
  show(number) { state.shown = number; state.index = 0; view.pinned = null; showState(state); ask("shown"); },
  add(op) { state.accesses.push(useOf("", op)); state.shown = state.accesses.length - 1; state.index = 0; showState(state); ask(`add ${state.shown}`); },
  remove(number) {
    state.accesses.splice(number, 1);
    state.shown = Math.min(state.shown, state.accesses.length - 1);
    showState(state);
    ask(`remove ${performance.now()}`);
  },
};

/** The bench moves to another chip, with instructions of that one. */
function moveTo(arch) {
  const [from, to] = [chipOf(state.arch), chipOf(arch)], was = state.accesses.map((use) => use.op);
  state.arch = arch;
  for (const use of state.accesses) use.op = counterpart(use.op, from, to);
  const changed = [...new Set(state.accesses.flatMap((use, i) => (use.op === was[i] ? [] : [`${was[i]} became ${use.op}`])))];
  byId("told").textContent = changed.length ? `${changed.join(", ")}: what ${to.name} has for it.` : "";
  showState(state);
}

function useLayout(text, what) {
  state.layout = text;
  slid = false;
  byId("layout").value = text;
  return ask(what);
}

/** A group of the swizzle's bits was dragged to another place. */
function drag(name, value) {
  const range = byId(name), next = Math.max(Number(range.min), Math.min(Number(range.max), value));
  if (Number(range.value) === next || byId("swizzle").disabled) return;
  range.value = next;
  range.dispatchEvent(new Event("input"));
}

async function runFix() {
  openTab("fix");
  const use = (layout) => { if (!state.before) state.before = answer.layout; useLayout(layout, "fix"); };
  if (exported) {
    const { fix } = benchOf(state);
    return fix ? showFixes(fix, use, "") : byId("fixes").replaceChildren(made("p", { class: "caveat" }, `Nothing is stored for this; ${needed()}`));
  }
  byId("fixes").replaceChildren(made("p", {}, "Searching swizzles and padding\u2026"));
  byId("fix").disabled = true;
  const bench = structuredClone(state);
  for (const [path, next] of [["/api/quick", "Rotations and every XOR of bits are still being tried\u2026"], ["/api/fix", ""]]) {
    const [good, found] = await question(path, bench);
    if (good) showFixes(found, use, next);
    else byId("fixes").replaceChildren(made("p", { class: "error" }, found.error));
    if (!good) break;
  }
  byId("fix").disabled = false;
  document.body.dataset.fixed = Number(document.body.dataset.fixed || 0) + 1;
}

async function openKernel(name) {
  if (!name) return become({ ...data.state, kernel: "" }, "kernel");
  const [good, rows] = await question("/api/plan", { ...state, kernel: name });
  if (byId("kernel").value !== name) return;           // another one was chosen meanwhile
  if (!good) { showFault(rows); return; }
  showPlan(name, rows, (row) => openAccess(name, row));
  openTab("plan");
  const first = rows.find((row) => row.part !== null);
  if (first) return openAccess(name, first);
  byId("told").textContent = `${name} moves everything with TMA and wgmma, which have no lanes: its counts and pictures are below.`;
}

/** Shows the banks of an access of a kernel's plan. */
function openAccess(kernel, { name, part, shown, dtype }) {
  return become({ kernel, part, shown, layout: "", dtype, arch: chipOf(state.arch).ops.length ? "sm_90" : state.arch, accesses: [useOf("", "ldmatrix.x4")] }, `plan ${name}`);
}

function openTab(name) {
  view.tab = name;
  for (const tab of TABS) {
    byId(`tab-${tab}`).setAttribute("aria-selected", tab === name);
    byId(`tab-${tab}`).tabIndex = tab === name ? 0 : -1;
    byId(`panel-${tab}`).hidden = tab !== name;
  }
  if (answer) { if (name === "tile") showStep(); showCode(); writeLink(state, view); }
}

/** "3, 8" or "@272" of the inspector: holds the element, and says why where there is none. */
function inspect(text) {
  const two = /^\s*(\d{1,6})\s*[, ]\s*(\d{1,6})\s*$/.exec(text), byte = /^\s*@\s*(\d{1,8})\s*$/.exec(text), { tile } = answer;
  let id = two ? Number(two[1]) * tile.columns + Number(two[2]) : -1;
  if (byte) {
    const at = tile.offsets.indexOf(Math.floor(Number(byte[1]) / tile.element_bytes));
    id = at < 0 ? -1 : Math.floor(at / tile.shown_columns) * tile.columns + at % tile.shown_columns;
  }
  const known = id >= 0 && (!two || Number(two[2]) < tile.columns) && at(id, tile) >= 0;
  if (known) { view.pinned = { kind: "element", id }; hover = null; light(); writeLink(state, view); scrollTo(id); }
  else byId("about").textContent = byte ? `byte ${byte[1]}: no element that is drawn lies there` : "write row, column, as in 3, 8, or a byte of the tile, as in @272";
}

function scrollTo(id) {
  const box = byId("tile-box");
  if (size) box.scrollTo(MARGIN.left + id % answer.tile.columns * size.cw - box.clientWidth / 2, Math.floor(id / answer.tile.columns) * size.ch - box.clientHeight / 2);
}

/** [whether there are any, the shown access in all languages or why not], which Python writes when somebody asks. */
const copiesOf = async () => (exported ? [!answer.copies.error, answer.copies] : question("/api/copies"));

/** Writes the Code tab, if it is open. */
async function showCode() {
  if (view.tab !== "code") return;
  const shown = answer, [good, found] = await copiesOf();
  if (shown !== answer) return;                        // of another answer, whose own texts come
  byId("codes").replaceChildren(...(good ? Object.entries(found).flatMap(([name, { title, text, error }]) =>
    [made("h3", {}, title), made("pre", { id: `code-${name}` }, text || error)]) : [made("p", {}, found.error)]));
}

async function copyAs(name) {
  if (name === "link") return copyText(location.href, "The link is copied.");
  if (name === "command") return copyText(answer.command, "The command is copied.");
  const [good, found] = await copiesOf();
  if (!good) { byId("told").textContent = `Nothing to copy: ${found.error}`; return; }
  const { title, text, error } = found[name];
  if (error) { byId("told").textContent = `${title} cannot say this: ${error}`; return; }
  return copyText(text, `${title} is copied.`);
}

async function copyText(text, said) {
  document.body.dataset.copied = text;
  try {
    await navigator.clipboard.writeText(text);
    byId("told").textContent = said;
  } catch {
    byId("told").replaceChildren("Copy it here:", made("pre", {}, text));
  }
}

function play() {
  clearInterval(playing);
  const was = playing;
  playing = was ? 0 : setInterval(() => { if (view.step < Number(byId("step").max)) step("step", 1); else play(); }, 700);
  if (playing && view.step >= Number(byId("step").max)) { view.step = 0; showStep(); }
  byId("play").setAttribute("aria-pressed", Boolean(playing));
  byId("play").textContent = playing ? "Stop" : "Play";
}

function zoomBy(by) {
  const now = view.zoom - (view.zoom > 20 ? 40 : 0), next = by ? Math.max(-8, Math.min(9, now + by)) : 0;
  view.zoom = next < 0 ? 40 + next : next;
  showStep();
  writeLink(state, view);
}

preparePanels();
showState(state);
byId("colour").value = view.colour;
const laneKeys = makeKeys(byId("lane-keys"), "lane", picked), bankKeys = makeKeys(byId("bank-keys"), "bank", picked);
laneKeys.forEach((key, lane) => { key.style.background = data.colours[lane % data.colours.length]; });
const on = (id, event, act) => byId(id).addEventListener(event, act);

for (const name of FIELDS) on(name, byId(name).tagName === "SELECT" ? "change" : "input", () => {
  if (OF_ACCESS.includes(name)) state.accesses[state.shown][name] = byId(name).value;
  else if (name === "arch") moveTo(byId(name).value);
  else state[name] = byId(name).value;
  slid = false;
  if (name === "layout") byId("swizzle").disabled = true;      // until Python has read the text
  if (name === "op") sayOp(byId("op").value);
  view.pinned = null;
  ask(name);
});
on("ops", "change", () => { if (byId("ops").value) { byId("op").value = byId("ops").value; byId("op").dispatchEvent(new Event("input")); } });
on("layout", "keydown", (event) => { if (event.key === "Enter") event.preventDefault(); });
on("question", "submit", (event) => event.preventDefault());
on("preset", "change", () => { const chosen = data.presets[byId("preset").value]; if (chosen) become(chosen.state, `preset ${chosen.title}`); });
on("kernel", "change", () => openKernel(byId("kernel").value));
for (const name of ["b", "m", "s"]) on(name, "input", () => {
  const [b, m, s] = ["b", "m", "s"].map((part) => Number(byId(part).value));
  state.layout = b ? `Sw<${b},${m},${s}> o ${base}` : base;
  byId("layout").value = state.layout;
  slid = true;
  sayLabels();
  ask(`slider ${name}`);
});
on("index", "input", () => { state.index = Number(byId("index").value); ask(); });
on("step", "input", () => { view.step = Number(byId("step").value); showStep(); writeLink(state, view); });
for (const part of document.querySelectorAll("[data-step]")) part.addEventListener("click", () => step(part.dataset.step, Number(part.dataset.by)));
on("colour", "change", () => { view.colour = byId("colour").value; showStep(); writeLink(state, view); });
on("play", "click", play);
on("fix", "click", runFix);
on("add", "click", () => change.add(byId("add-access").value));
on("pin", "click", () => { state.before = state.before ? "" : answer.layout; ask("pin"); });
on("undo", "click", () => history.back());
on("redo", "click", () => history.forward());
on("zoom-in", "click", () => zoomBy(1));
on("zoom-out", "click", () => zoomBy(-1));
on("zoom-fit", "click", () => zoomBy(0));
on("inspect", "keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); inspect(byId("inspect").value); } });
on("tile-box", "scroll", () => { paintOverview(); light(); });
on("overview", "click", (event) => {
  const box = byId("tile-box"), map = byId("overview"), by = size.width / map.width;
  box.scrollTo(event.offsetX * by - box.clientWidth / 2, event.offsetY * by - box.clientHeight / 2);
});
for (const tab of TABS) on(`tab-${tab}`, "click", () => openTab(tab));
on("tabs", "keydown", (event) => {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key], shown = TABS.filter((tab) => !byId(`tab-${tab}`).hidden);
  if (!by) return;
  const next = shown[(shown.indexOf(view.tab) + by + shown.length) % shown.length];
  openTab(next);
  byId(`tab-${next}`).focus();
});

on("grid", "pointerover", (event) => { const pick = gridPick(event); if (pick) picked.enter(pick); else picked.leave(); });
on("grid", "pointerleave", picked.leave);
on("grid", "click", (event) => { const pick = gridPick(event); if (pick) picked.hold(pick); });
on("grid", "keydown", (event) => {
  const [name, by] = { ArrowLeft: ["step", -1], ArrowUp: ["step", -1], ArrowRight: ["step", 1], ArrowDown: ["step", 1],
                       PageUp: ["index", -1], PageDown: ["index", 1] }[event.key] || [];
  if (!name) return;
  event.preventDefault();
  step(name, by);
});
on("tile", "pointermove", (event) => {
  const id = elementAt(event);
  if (id === null) picked.leave();
  else if (!hover || hover.kind !== "element" || hover.id !== id) picked.enter({ kind: "element", id });
});
on("tile", "pointerleave", picked.leave);
on("tile", "click", (event) => { const id = elementAt(event); if (id !== null) picked.hold({ kind: "element", id }); });
on("tile", "keydown", moveCursor);
on("tile", "blur", () => { cursor = null; picked.leave(); });
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  view.pinned = hover = cursor = null;
  writeLink(state, view);
  light();
});
on("copy", "click", () => copyAs(byId("copy-as").value));
on("export-svg", "click", () => offer("simlayout.svg", "image/svg+xml", picture()));
on("export-html", "click", async () => {
  const [good, page] = await question("/api/export");
  if (good) offer("simlayout.html", "text/html", page);
  else byId("told").textContent = "Nothing to export: mend the fault first.";
});
/** The address is another one: by undo, redo, the browser's back, or typed. */
function arrive() {
  if (location.hash === linkOf(state, view)) return;
  ({ state, view } = readLink());
  slid = false;
  written = { what: "", at: 0 };
  showState(state);
  byId("colour").value = view.colour;
  openTab(view.tab);
  ask();
}
addEventListener("popstate", arrive);
addEventListener("hashchange", arrive);
let resized = 0;
addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(() => { if (answer) { drawGrids(); showStep(); } }, 60); });
for (const [name, on] of [["beforeprint", true], ["afterprint", false]]) addEventListener(name, () => { printing = on; if (answer) show(answer); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { if (answer) show(answer); });
if (exported && data.plan.length) showPlan(state.kernel, data.plan, (row) => openAccess(state.kernel, row));
showReport((line) => become(line.state, `line ${line.line}`));
openTab(view.tab);
ask();
