// Fields, counts, texts and errors: what is not a picture.

/** An element with a text, attributes and children. */
function made(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** What one adds to a tile, the most usual first; the instruction can then be any other. Of other chips the widest. */
const TYPICAL = ["st.shared.b128", "ld.shared.b128", "ld.shared.b32", "st.shared.b32", "ldmatrix.x4", "ldmatrix.x4.trans", "stmatrix.x4", "cp.async.cg.16"];

/** Fills the choices, and says what an exported page cannot do. */
function preparePanels() {
  const option = (parent, value, text) => parent.append(new Option(text, value));
  data.dtypes.forEach((name) => option(byId("dtype"), name, name));
  for (const vendor of new Set(data.chips.map((chip) => chip.vendor))) {
    const group = made("optgroup", { label: vendor });
    for (const { name, product } of data.chips.filter((chip) => chip.vendor === vendor)) option(group, name, `${name}: ${product}`);
    byId("arch").append(group);
  }
  data.presets.forEach((preset, i) => option(byId("preset"), i, preset.title));
  data.kernels.forEach((name) => option(byId("kernel"), name, name));
  byId("foot").textContent = `simlayout ${data.version}; every number is computed ` +
    (exported ? "in this page, with the tables of simlayout." : "by Python, on this machine.");
  if (!exported) return;
  byId("only-shown").hidden = false;
  for (const id of ["preset-field", "kernel-field", "export-html", "ops", ...(data.plan.length ? [] : ["tab-plan"]), ...(data.lines.length ? [] : ["tab-report"]), ...(data.stored.benches.some((bench) => bench.fix) ? [] : ["fix", "tab-fix", "with-fix"])]) byId(id).hidden = true;
  for (const name of FIELDS.slice(1)) byId(name)[byId(name).tagName === "SELECT" ? "disabled" : "readOnly"] = true;
}

/** The lists of what a chip has: its instructions by kind, those that one adds, and the languages of its code. */
function offerOf(chip) {
  if (chip.name === byId("ops").dataset.chip) return;
  const ops = opsOf(chip), groups = Object.entries(data.kinds).map(([kind, what]) => [what, ops.filter((op) => op.kind === kind)]);
  const options = (pairs) => pairs.map(([value, text]) => new Option(text, value));
  byId("ops").dataset.chip = chip.name;
  byId("ops").replaceChildren(new Option("", ""), ...groups.filter(([, its]) => its.length).map(([what, its]) =>
    made("optgroup", { label: what.split(":")[0] }, ...options(its.map(({ name }) => [name, name])))));
  byId("add-access").replaceChildren(...options((chip.ops.length ? [...ops].sort((a, b) => b.bytes - a.bytes).map((op) => op.name) : TYPICAL).map((name) => [name, name])));
  const chosen = byId("copy-as").value;
  byId("copy-as").replaceChildren(...options([["link", "link"], ...Object.entries(chip.languages), ["command", "command line"]]));
  byId("copy-as").value = chosen;
}

/** What a chip calls a wavefront and a warp, wherever the page says it, and how many banks have one colour. */
function sayWords(chip, { banks }) {
  for (const part of document.querySelectorAll("[data-word]")) part.textContent = chip[part.dataset.word];
  for (const [by, which] of [["-1", "previous"], ["1", "next"]]) document.querySelector(`[data-step=step][data-by="${by}"]`).setAttribute("aria-label", `${which} ${chip.wavefront}`);
  byId("colour").options[0].textContent = `by banks, ${banks === 32 ? "four" : "eight"} to a colour`;
}

/** The instruction that does on a chip what another one did: of the same name, or of as many bytes each lane, loads for loads
    and stores for stores; else the name as it is, which the chip then refuses. */
function counterpart(name, from, to) {
  const reads = { load: 1, ldmatrix: 1, store: 2, stmatrix: 2, copy: 2 }, ops = opsOf(to), was = opsOf(from).find((op) => op.name === name.trim());
  if (!was || ops.some((op) => op.name === was.name)) return name;
  const like = ops.find((op) => reads[op.kind] && reads[op.kind] === reads[was.kind] && op.bytes === was.bytes);
  return like ? like.name : name;
}

/** The text of a field in a state: of the bench, or of the access that is shown. */
const fieldOf = (state, name) => (OF_ACCESS.includes(name) ? (state.accesses[state.shown] || { [name]: "" })[name] : state[name]);

/** The fields show a state. */
function showState(state) {
  for (const name of FIELDS) {
    const field = byId(name), text = fieldOf(state, name);
    if (field.tagName === "SELECT" && ![...field.options].some((o) => o.value === text)) field.append(new Option(text, text));
    if (field.value !== text) field.value = text;
  }
  byId("kernel").value = state.kernel;
  offerOf(chipOf(state.arch));
  for (const name of OF_ACCESS) byId(name).disabled = Boolean(state.kernel);
  byId("ops").disabled = Boolean(state.kernel);
  sayOp(byId("op").value);
}

/** What an instruction is, below its field. */
function sayOp(name) {
  const chip = chipOf(state.arch), found = opsOf(chip).find((op) => op.name === name.trim());
  byId("op-what").textContent = found ? `${data.kinds[found.kind].split(": ")[1]} ${found.bytes} byte${found.bytes > 1 ? "s" : ""}, ${found.phases} phase${found.phases > 1 ? "s" : ""}`
    + (chip.ops.length ? ` of ${chip.lanes / found.phases} lanes, ${found.banks} banks` : "") : "";
  byId("ops").value = "";
}

/** The error of a refusal under its field, with a caret where the parser stopped; null clears all of them. */
function showFault(fault) {
  for (const name of [...FIELDS, "request"]) {
    const mine = fault && (fault.field === name || (name === "request" && !FIELDS.includes(fault.field)));
    const place = byId(`error-${name}`), said = [];
    if (mine) {
      said.push(fault.access === null || fault.access === undefined || state.accesses.length === 1 || fault.access === state.shown
        ? fault.error : `access ${fault.access + 1}: ${fault.error}`);
      if (fault.caret) said.push(made("pre", {}, `${fault.shown}\n${fault.caret}`));
    }
    place.replaceChildren(...said);
    if (byId(name)) byId(name)[mine ? "setAttribute" : "removeAttribute"]("aria-invalid", "true");
  }
  for (const part of ["pictures", "bits"]) byId(part).classList.toggle("stale", Boolean(fault));
}

/** Counts of the shown instruction, and the texts of an answer. */
function showCounts(answer) {
  const { instruction, counts, tile } = answer, n = counts.wavefronts.length;
  byId("what").textContent = `one instruction: ${answer.op} on ${answer.arch}, ${instruction.index + 1} of ${n}` +
    (instruction.loops ? ` (${instruction.loops})` : "");
  byId("counts").replaceChildren(...["wavefronts", "ideal", "excess", "conflicts"].map((name) => made("div",
    name === "excess" ? { class: instruction.excess ? "bad" : "good" } : {}, made("dt", {}, name === "wavefronts" ? chipOf(answer.arch)[name] : name), made("dd", { id: `count-${name}` }, `${instruction[name]}`))));
  byId("caveat").textContent = instruction.exact ? "" : `Not known exactly, ${instruction.least} to ${waves(instruction.most)}: ${instruction.caveat}.`;
  const [kind, ...by] = answer.provenance.split(": ");
  byId("provenance").replaceChildren("Rule ", made("b", {}, kind), `: ${by.join(": ")}`);
  byId("provenance").title = answer.provenance;
  byId("note").textContent = instruction.note;
  const shape = tile.modes.length > 2 || tile.modes.some((m) => m.length > 1)
    ? `modes (${tile.modes.map((m) => (m.length > 1 ? `(${m.join(",")})` : m[0])).join(", ")}), drawn as ` : "";
  byId("tile-size").textContent = `${shape}${tile.rows} x ${tile.columns} ${answer.dtype}, ${tile.size * tile.element_bytes} bytes` +
    (tile.wasted ? `, ${tile.wasted} elements wasted` : "") +
    (answer.before ? `, ${moved.length} of ${tile.offsets.length} lie elsewhere than before (dark corner)` : "");
  const cut = tile.shown_rows < tile.rows || tile.shown_columns < tile.columns;
  byId("cropped").textContent = cut ? `The first ${tile.shown_rows} x ${tile.shown_columns} elements are drawn.` : "";
  byId("explanation").textContent = instruction.explanation;
  byId("claims").replaceChildren(...[...answer.claims, answer.provenance].map((claim) => made("li", {}, claim)));
  byId("command").textContent = answer.command || "a report's line has none";
}

/** The positions of the sliders, from Python's reading of the layout. */
function showSliders({ b, m, s }) {
  for (const [name, value] of Object.entries({ b, m, s })) if (value !== null) byId(name).value = value;
  sayLabels();
}

function sayLabels() {
  for (const name of ["b", "m", "s"]) byId(`${name}-now`).textContent = byId(name).value;
}

/** The range of a stepper, its position and its text. */
function showStepper(name, most, value, text) {
  const range = byId(name);
  range.max = most;
  range.value = value;
  range.disabled = most === 0;
  range.setAttribute("aria-valuetext", text);
  byId(`${name}-now`).textContent = text;
  for (const button of document.querySelectorAll(`[data-step=${name}]`))
    button.disabled = value + Number(button.dataset.by) < 0 || value + Number(button.dataset.by) > most;
}

const MOST_KEYS = 64;            // lanes of AMD's waves, banks of gfx950

/** A toolbar of as many buttons as lanes or banks, of which one is in the order of tabs; arrows move between them. picked:
    {enter, leave, hold}. */
function makeKeys(parent, kind, picked) {
  const keys = Array.from({ length: MOST_KEYS }, (_, id) => {
    const key = document.createElement("button");
    key.type = "button";
    key.textContent = id;
    key.tabIndex = id ? -1 : 0;
    key.dataset[kind] = id;
    key.setAttribute("aria-label", `${kind} ${id}`);
    key.addEventListener("pointerenter", () => picked.enter({ kind, id }));
    key.addEventListener("focus", () => picked.enter({ kind, id }));
    key.addEventListener("pointerleave", picked.leave);
    key.addEventListener("blur", picked.leave);
    key.addEventListener("click", () => picked.hold({ kind, id }));
    return key;
  });
  parent.append(...keys);
  parent.addEventListener("keydown", (event) => {
    const shown = keys.filter((key) => !key.hidden), now = shown.indexOf(document.activeElement), by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -8, ArrowDown: 8 }[event.key];
    const next = event.key === "Home" ? 0 : event.key === "End" ? shown.length - 1 : by ? now + by : -1;
    if (now < 0 || next < 0 || next >= shown.length) return;
    event.preventDefault();
    keys[now].tabIndex = -1;
    keys[next].tabIndex = 0;
    keys[next].focus();
  });
  return keys;
}

/** Shows so many buttons, marks those of what is picked and of its partners, and greys those that take no part. */
function lightKeys(keys, count, on, near, active, pinned) {
  keys.forEach((key, id) => {
    key.hidden = id >= count;
    key.classList.toggle("on", on.has(id));
    key.classList.toggle("near", near.has(id) && !on.has(id));
    key.classList.toggle("off", !active.has(id));
    key.setAttribute("aria-pressed", pinned === id);
  });
}
