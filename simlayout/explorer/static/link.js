// What a link holds: the question (texts for Python), and what is looked at.
const data = JSON.parse(document.getElementById("data").textContent);
const FIELDS = ["layout", "dtype", "op", "lanes", "domain", "arch"];
const byId = (id) => document.getElementById(id);
const exported = "answer" in data;

/** {state, view} of the address; what it does not say is as the page came. */
function readLink() {
  const given = new URLSearchParams(location.hash.slice(1));
  const state = { ...data.state };
  const whole = (name, otherwise) => (/^\d{1,9}$/.test(given.get(name) || "") ? Number(given.get(name)) : otherwise);
  if (!exported) for (const name of FIELDS) if (given.has(name)) state[name] = given.get(name);
  state.index = whole("index", state.index);
  const pick = /^(lane|bank|element|cell)-(\d{1,6})$/.exec(given.get("pick") || "");
  return { state, view: { step: whole("step", 0), colour: given.get("colour") === "lane" ? "lane" : "bank",
                          pinned: pick ? { kind: pick[1], id: Number(pick[2]) } : null } };
}

/** Puts the question and the view into the address, without a new entry in the history. */
function writeLink(state, view) {
  const made = new URLSearchParams();
  for (const name of FIELDS) if (state[name] !== "") made.set(name, state[name]);
  made.set("index", state.index);
  if (view.step) made.set("step", view.step);
  if (view.colour !== "bank") made.set("colour", view.colour);
  if (view.pinned) made.set("pick", `${view.pinned.kind}-${view.pinned.id}`);
  history.replaceState(null, "", `#${made}`);
}

/** Offers text as a file. */
function offer(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
