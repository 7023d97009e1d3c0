// The bench around one picture: the table of accesses, the layouts that would mend them, a kernel's plan, a report's lines.

const cell = (text, kind = "") => made("td", kind ? { class: kind } : {}, text);
const number = (n) => n.toLocaleString("en").replaceAll(",", "\u202f");
const button = (text, attributes, act) => {
  const b = made("button", { type: "button", ...attributes }, text);
  b.addEventListener("click", act);
  return b;
};

/** The rows of all accesses. change: {show, add, remove, rename} act on the bench. */
function showAccesses(answer, state, change) {
  const pinned = Boolean(answer.before), own = !state.kernel && !exported;
  const heads = ["access", "instruction", chipOf(answer.arch).wavefronts, "ideal", "excess", ...(pinned ? ["before", "change"] : []), ""];
  byId("accesses").tHead.replaceChildren(made("tr", {}, ...heads.map((h, i) => made("th", { scope: "col", class: i > 1 ? "n" : i ? "wide" : "" }, h))));
  const rows = answer.accesses.map((a, i) => {
    const by = pinned ? a.excess - a.before.excess : 0, tools = made("td", { class: "n" });
    if (own && answer.accesses.length > 1) tools.append(button("\u2715", { "aria-label": `remove ${a.name}` }, () => change.remove(i)));
    return made("tr", i === state.shown ? { class: "on" } : {},
      made("td", {}, button(a.name, { class: "name", "data-access": i, "aria-pressed": i === state.shown }, () => change.show(i))),
      cell(`${a.op}${a.loops ? `, ${a.loops}` : ""}`, "wide"), cell(a.least < a.most ? `${number(a.wavefronts)} (${number(a.least)} to ${number(a.most)})` : number(a.wavefronts), "n"), cell(number(a.ideal), "n"),
      cell(`${number(a.excess)} ${a.excess ? "\u2717" : "\u2713"}`, `n ${a.excess ? "bad" : "good"}`),
      ...(pinned ? [cell(number(a.before.excess), "n"), cell(by ? `${by > 0 ? "+" : "\u2212"}${number(Math.abs(by))}` : "same", `n ${by > 0 ? "bad" : by < 0 ? "good" : ""}`)] : []), tools);
  });
  byId("add-place").hidden = !own || answer.accesses.length >= 8 || state.accesses.some((use) => use.addresses);
  const focused = document.activeElement?.dataset?.access;
  byId("accesses").tBodies[0].replaceChildren(...rows);
  if (focused !== undefined) byId("accesses").querySelector(`[data-access="${focused}"]`)?.focus();
}

/** The layouts that a search found; use: applies one; next: what is still searched, "" at the end. */
function showFixes(found, use, next) {
  const parts = next ? [made("p", {}, made("small", {}, next))] : [], free = found.rows.filter((row) => !row.excess).length;
  const which = free === found.rows.length ? "these" : free > 1 ? `the first ${free}` : "the first";
  parts.push(made("p", {}, found.now ? "" : "There is no conflict to end. ", free ? `With ${which}, all accesses above have no excess (${number(found.now)} when the search began).`
    : found.rows.length ? `None ${next ? "so far " : ""}ends all conflicts (excess ${number(found.now)} when the search began); the best that there are:` : "No layout fits."));
  parts.push(...found.why.map((why) => made("p", { class: "caveat" }, why)));
  const table = made("table", {}, made("thead", {}, made("tr", {}, ...["layout", "family", "excess", "bytes wasted", "operations", "proof", ""].map((h, i) =>
    made("th", { scope: "col", class: i > 1 && i < 5 ? "n" : "" }, h)))), made("tbody", {}, ...found.rows.map((row, i) => made("tr", {},
    made("td", {}, made("code", {}, row.layout)), cell(row.family), cell(number(row.excess), `n ${row.excess ? "bad" : "good"}`), cell(number(row.wasted), "n"),
    cell(number(row.operations), "n"), made("td", {}, made("details", {}, made("summary", {}, "certificate"), made("ul", {}, ...row.claims.map((c) => made("li", {}, c))))),
    made("td", {}, button("Use", { "data-fix": i, "aria-label": `use ${row.layout}` }, () => use(row.layout)))))));
  if (found.rows.length) parts.push(table);
  if (!next) parts.push(...found.said.map((line) => made("p", {}, made("small", {}, line))));
  byId("fixes").replaceChildren(...parts);
}

/** The rows of a kernel's plan; open: shows the banks of one. */
function showPlan(name, rows, open) {
  const heads = ["access", "instruction", "warp instructions", "wavefronts", "ideal", "excess", "tile"];
  const seen = made("div", { id: "plan-pictures" });
  const picture = (row) => { seen.replaceChildren(...row.pictures.map(drawPanel)); document.body.dataset.pictured = row.name; };
  const act = (row) => (row.part !== null ? button(row.name, { class: "name", "data-plan": `${row.part}-${row.shown}` }, () => open(row))
    : row.pictures.length ? button(row.name, { class: "name", "data-picture": row.name }, () => { picture(row); seen.scrollIntoView({ block: "nearest" }); }) : row.name);
  if (rows.every((row) => row.part === null)) picture(rows.find((row) => row.instruction.startsWith("wgmma")) || rows[0]);
  byId("plan").replaceChildren(seen, made("p", {}, made("b", {}, name), " ", made("small", {}, "counts of one tile of C and one turn of its stages")),
    made("table", {}, made("thead", {}, made("tr", {}, ...heads.map((h, i) => made("th", { scope: "col", class: i > 1 && i < 6 ? "n" : "" }, h)))),
      made("tbody", {}, ...rows.map((row) => made("tr", {},
        made("td", {}, act(row)),
        cell(row.instruction), ...["instructions", "wavefronts", "ideal", "excess"].map((n) => cell(number(row[n]), "n")),
        cell(row.layout || row.why || "no index function of its own"))))));
}

/** A panel of `simlayout.plots` as SVG in a figure: boxes and frames on a grid, with its numbers and what they mean. */
function drawPanel(panel) {
  const w = 384 / panel.width, h = 14.5, left = 40, top = 30, width = left + panel.width * w + 8, height = top + panel.height * h + 6, ink = palette();
  const svg = shape(null, "svg", { viewBox: `0 0 ${width} ${height}`, width, height, xmlns: SVG, "font-size": 10.5, "text-anchor": "middle", role: "img",
    "font-family": "system-ui, DejaVu Sans, sans-serif", "aria-label": panel.title, fill: ink.ink });
  shape(svg, "text", { x: left, y: 11, "text-anchor": "start", fill: ink.soft }, panel.xlabel);
  shape(svg, "text", { x: left - 6, y: 24, "text-anchor": "end", fill: ink.soft }, panel.ylabel);
  for (const [x, text] of panel.columns) shape(svg, "text", { x: left + x * w, y: 24 }, text);
  for (const [y, text] of panel.rows) shape(svg, "text", { x: left - 6, y: top + y * h + 4, "text-anchor": "end" }, text);
  for (const [x, y, wide, high, fill, text] of panel.boxes) {
    shape(svg, "rect", { x: left + x * w, y: top + y * h, width: wide * w, height: high * h, fill, stroke: ink.paper });
    shape(svg, "text", { x: left + (x + wide / 2) * w, y: top + (y + high / 2) * h + 4, fill: "#000" }, text);
  }
  for (const [x, y, wide, high] of panel.frames) shape(svg, "rect", { x: left + x * w, y: top + y * h, width: wide * w, height: high * h, fill: "none", stroke: "#000", "stroke-width": 2.2 });
  return made("figure", {}, made("figcaption", {}, panel.title), made("div", { class: "scroll" }, svg), ...panel.words.map((text) => made("small", {}, text)));
}

/** The lines of a report; open: shows the banks of one. */
function showReport(open) {
  if (!data.lines.length) return;
  const heads = ["line", "instructions", "wavefronts", "ideal", "excess", "sectors", "least", "source"];
  const parts = [made("p", {}, made("b", {}, data.report))];
  for (const group of new Set(data.lines.map((line) => `${line.kernel} \u00b7 ${line.file}`))) {
    const lines = data.lines.filter((line) => `${line.kernel} \u00b7 ${line.file}` === group);
    parts.push(made("h3", {}, group), made("table", {}, made("thead", {}, made("tr", {}, ...heads.map((h, i) => made("th", { scope: "col", class: i < 7 ? "n" : "" }, h)))),
      made("tbody", {}, ...lines.map((line) => made("tr", {},
        made("td", { class: "n" }, line.state ? button(line.line, { class: "name", "data-line": line.line }, () => open(line)) : `${line.line}`),
        ...heads.slice(1, 7).map((n) => cell(line[n] === undefined ? "" : number(line[n]), `n ${n === "excess" && line[n] ? "bad" : ""}`)),
        made("td", {}, made("code", {}, line.source)))))));
  }
  if (!data.lines.some((line) => line.state)) parts.push(made("p", { class: "caveat" }, "This report has counts without addresses, so no line has banks to show: write it anew with `simlayout run --json report.json program.py`."));
  byId("report").replaceChildren(...parts);
}
