// Fields, counts, texts and errors: what is not a picture.

/** Fills the choices, and says what an exported page cannot do. */
function preparePanels() {
  const option = (parent, value, text) => { const o = new Option(text, value); parent.append(o); };
  data.dtypes.forEach((name) => option(byId("dtype"), name, name));
  data.arches.forEach((name) => option(byId("arch"), name, name));
  data.ops.forEach((name) => option(byId("ops"), name, name));
  data.presets.forEach((preset, i) => option(byId("preset"), i, preset.title));
  byId("foot").textContent = `simlayout ${data.version}; every number is computed by Python` +
    (exported ? " and was stored in this page." : ", on this machine.");
  if (!exported) return;
  byId("only-shown").hidden = false;
  for (const id of ["preset-field", "swizzle", "export-html"]) byId(id).hidden = true;
  for (const name of FIELDS) byId(name)[byId(name).tagName === "SELECT" ? "disabled" : "readOnly"] = true;
}

/** The fields show a state. */
function showState(state) {
  for (const name of FIELDS) {
    const field = byId(name);
    if (field.tagName === "SELECT" && ![...field.options].some((o) => o.value === state[name]))
      field.append(new Option(state[name], state[name]));
    field.value = state[name];
  }
}

/** The error of a refusal under its field, with a caret where the parser stopped; null clears all of them. */
function showFault(fault) {
  for (const name of [...FIELDS, "request"]) {
    const mine = fault && (fault.field === name || (name === "request" && !FIELDS.includes(fault.field)));
    const place = byId(`error-${name}`);
    const said = [];
    if (mine) {
      said.push(fault.error);
      if (fault.caret) {
        const pre = document.createElement("pre");
        pre.textContent = `${fault.shown}\n${fault.caret}`;
        said.push(pre);
      }
    }
    place.replaceChildren(...said);
    if (byId(name)) byId(name)[mine ? "setAttribute" : "removeAttribute"]("aria-invalid", "true");
  }
  byId("pictures").classList.toggle("stale", Boolean(fault));
}

/** Counts, totals and texts of an answer. */
function showCounts(answer) {
  const { instruction, counts, tile } = answer, n = counts.wavefronts.length;
  const sum = (list) => list.reduce((a, b) => a + b, 0);
  byId("what").textContent = `${answer.op} on ${answer.arch}, instruction ${instruction.index} of ${n}` +
    (instruction.loops ? ` (${instruction.loops})` : "");
  byId("counts").replaceChildren(...["wavefronts", "ideal", "excess", "conflicts"].map((name) => {
    const made = document.createElement("div"), term = document.createElement("dt"), value = document.createElement("dd");
    term.textContent = name;
    value.textContent = instruction[name];
    value.id = `count-${name}`;
    made.append(term, value);
    if (name === "excess") made.className = instruction.excess ? "bad" : "good";
    return made;
  }));
  byId("totals").textContent = `All ${n} instruction${n > 1 ? "s" : ""}: ${sum(counts.wavefronts)} wavefronts, ideal ` +
    `${sum(counts.ideal)}, excess ${sum(counts.excess)}.`;
  byId("caveat").textContent = instruction.exact ? "" : `Not known exactly: ${instruction.caveat}.`;
  byId("note").textContent = instruction.note;
  byId("tile-size").textContent = `${tile.rows} x ${tile.columns} ${answer.dtype}, ${tile.size * tile.element_bytes} bytes` +
    (tile.wasted ? `, ${tile.wasted} elements wasted` : "");
  const cut = tile.shown_rows < tile.rows || tile.shown_columns < tile.columns;
  byId("cropped").textContent = cut ? `The first ${tile.shown_rows} x ${tile.shown_columns} elements are drawn.` : "";
  byId("explanation").textContent = instruction.explanation;
  byId("python").textContent = answer.formula.python || answer.formula.error;
  byId("cuda").textContent = answer.formula.cuda || answer.formula.error;
  byId("command").textContent = answer.command;
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

/** A toolbar of 32 buttons of which one is in the order of tabs; arrows move between them. picked: {enter, leave, hold}. */
function makeKeys(parent, kind, picked) {
  const keys = Array.from({ length: 32 }, (_, id) => {
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
    const now = keys.indexOf(document.activeElement), by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -8, ArrowDown: 8 }[event.key];
    const next = event.key === "Home" ? 0 : event.key === "End" ? 31 : by ? now + by : -1;
    if (now < 0 || next < 0 || next > 31) return;
    event.preventDefault();
    keys[now].tabIndex = -1;
    keys[next].tabIndex = 0;
    keys[next].focus();
  });
  return keys;
}

/** Marks the buttons of what is picked and of its partners, and greys those that take no part. */
function lightKeys(keys, on, near, active, pinned) {
  keys.forEach((key, id) => {
    key.classList.toggle("on", on.has(id));
    key.classList.toggle("near", near.has(id) && !on.has(id));
    key.classList.toggle("off", !active.has(id));
    key.setAttribute("aria-pressed", pinned === id);
  });
}
