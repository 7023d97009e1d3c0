// What a link holds: the bench (texts for Python), and what is looked at. Each change is an entry of the browser's history.
const data = JSON.parse(document.getElementById("data").textContent, unfold);
const OF_BENCH = ["layout", "dtype", "arch", "before", "kernel"], OF_ACCESS = ["op", "lanes", "domain"];
const FIELDS = ["layout", "dtype", "arch", ...OF_ACCESS], TABS = ["tile", "fix", "why", "code", "plan", "report"];
const byId = (id) => document.getElementById(id);
const exported = "stored" in data;
const SOON = 900;       // milliseconds within which changes of one field are one step of undo
let written = { what: "", at: 0 };

/** The chip of a name. */
const chipOf = (name) => data.chips.find((chip) => chip.name === name || `${chip.name}a` === name) || data.chips.find((chip) => chip.name === data.state.arch) || data.chips[0];

/** The instructions that a chip has. */
function opsOf({ ops, capability }) {
  const number = ([major, minor]) => 100 * major + minor;
  return ops.length ? ops : data.ops.filter((op) => number(op.since) <= number(capability));
}

/** "1 wavefront", "2 passes": in the words of a chip. */
const waves = (count, arch = answer.arch) => `${count} ${chipOf(arch)[count === 1 ? "wavefront" : "wavefronts"]}`;

/** Undoes what `pack.py` did to a value: differences, columns, lists in one. */
function unfold(key, value) {
  if (!value || typeof value !== "object") return value;
  if (value["+"]) { let sum = 0; return value["+"].map((by) => (sum += by)); }
  if (value["#"]) return Array.from({ length: value.of.length / value["#"] }, (_, i) => value.of.slice(i * value["#"], (i + 1) * value["#"]));
  if (!value["*"]) return value;
  const names = Object.keys(value["*"]);
  return value["*"][names[0]].map((_, i) => Object.fromEntries(names.map((name) => [name, value["*"][name][i]])));
}

/** {state, view} of the address; what it does not say is as the page came. */
function readLink() {
  const given = new URLSearchParams(location.hash.slice(1)), state = structuredClone(data.state);
  const whole = (name, otherwise) => (/^\d{1,9}$/.test(given.get(name) || "") ? Number(given.get(name)) : otherwise);
  if (exported && given.size) {
    const uses = given.getAll("a").map(readUse), line = data.lines.find((of) => of.state && uses.some((use) => use && use.addresses === of.state.accesses[0].addresses));
    Object.assign(state, structuredClone(line ? line.state : data.state), { part: Math.min(whole("part", 0), Math.max(data.stored.benches.length - 1, 0)) });
    const held = (name, otherwise) => (holds(given.get(name) ?? "", benchOf(state)) ? given.get(name) : otherwise);
    state.layout = held("layout", state.layout);
    state.before = held("before", "");
  } else if (given.size) {
    for (const name of OF_BENCH) state[name] = given.get(name) ?? (name === "before" || name === "kernel" ? "" : state[name]);
    const uses = given.getAll("a").map(readUse).filter(Boolean);
    if (uses.length) state.accesses = uses;
    else if (given.has("op")) state.accesses = [useOf("", ...OF_ACCESS.map((name) => given.get(name) || ""))];
  }
  for (const name of [...(exported ? [] : ["part"]), "shown", "index"]) state[name] = whole(name, given.size ? 0 : state[name]);
  const pick = /^(lane|bank|element|cell)-(\d{1,7})$/.exec(given.get("pick") || "");
  return { state, view: { step: whole("step", 0), colour: given.get("colour") === "lane" ? "lane" : "bank", zoom: whole("zoom", 0),
                          tab: TABS.includes(given.get("tab")) ? given.get("tab") : data.report && !given.size ? "report" : "tile",
                          pinned: pick ? { kind: pick[1], id: Number(pick[2]) } : null } };
}

const useOf = (name, op, lanes = "", domain = "", addresses = "") => ({ name, op, lanes, domain, addresses });

/** A Use of its JSON text; null for what is none. */
function readUse(text) {
  try {
    const parts = JSON.parse(text);
    return Array.isArray(parts) && parts.length <= 5 && parts.every((p) => typeof p === "string") ? useOf(...parts) : null;
  } catch { return null; }
}

function linkOf(state, view) {
  const made = new URLSearchParams();
  for (const name of OF_BENCH) if (state[name] !== "") made.set(name, state[name]);
  if (!state.kernel && state.accesses.length === 1 && !state.accesses[0].name && !state.accesses[0].addresses)
    for (const name of OF_ACCESS) { if (state.accesses[0][name]) made.set(name, state.accesses[0][name]); }
  else if (!state.kernel) for (const use of state.accesses) made.append("a", JSON.stringify(Object.values(useOf(...Object.values(use)))));
  for (const name of ["part", "shown"]) if (state[name]) made.set(name, state[name]);
  made.set("index", state.index);
  for (const name of ["step", "zoom"]) if (view[name]) made.set(name, view[name]);
  if (view.colour !== "bank") made.set("colour", view.colour);
  if (view.tab !== "tile") made.set("tab", view.tab);
  if (view.pinned) made.set("pick", `${view.pinned.kind}-${view.pinned.id}`);
  return `#${made}`;
}

/** Puts bench and view into the address. what: that has changed, a new step of undo unless it just changed before; "" for what
    is no step, as a view. */
function writeLink(state, view, what = "") {
  const link = linkOf(state, view), now = performance.now(), past = history.state || { n: 0, most: 0 };
  const step = what && link !== location.hash && !(written.what === what && now - written.at < SOON);
  if (step) history.pushState({ n: past.n + 1 }, "", link);
  else if (link !== location.hash || !history.state) history.replaceState(past, "", link);      // a call takes milliseconds
  if (what) written = { what, at: now };
  if (step) writeLink.most = past.n + 1;
  writeLink.most = Math.max(writeLink.most || 0, past.n || 0);
  byId("undo").disabled = !(history.state.n > 0);
  byId("redo").disabled = !(history.state.n < writeLink.most);
}

/** Offers text as a file. */
function offer(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
