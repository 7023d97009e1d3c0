// The grid of banks and wavefronts as SVG. All of its looks are attributes, so that a copy of it is a file of its own.
const SVG = "http://www.w3.org/2000/svg";
const CELL = 22, LEFT = 34, RIGHT = 110, TOP = 26, GAP = 20;

/** An SVG element with attributes and, perhaps, a text. */
function shape(parent, name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

/** The grid of one instruction; its cells carry data-cell, the numbers above them data-bank. */
function drawGrid(instruction, cells) {
  const tops = [];
  let height = TOP;
  for (const phase of instruction.phases) {
    tops.push(height);
    height += Math.max(phase.wavefronts, 1) * CELL + GAP;
  }
  const width = LEFT + 32 * CELL + RIGHT;
  const svg = shape(null, "svg", { viewBox: `0 0 ${width} ${height}`, width, height, xmlns: SVG, "font-size": 11,
    "font-family": "system-ui, DejaVu Sans, sans-serif", "text-anchor": "middle", role: "img",
    "aria-label": `${instruction.wavefronts} wavefronts in ${instruction.phases.length} phases` });
  const hatch = shape(shape(svg, "defs", {}), "pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)" });
  shape(hatch, "line", { x1: 0, y1: 0, x2: 0, y2: 6, stroke: "#000", "stroke-width": 1, "stroke-opacity": 0.45 });
  for (let bank = 0; bank < 32; bank++) {
    const head = shape(svg, "g", { "data-bank": bank });
    shape(head, "rect", { x: LEFT + bank * CELL, y: 4, width: CELL, height: 18, fill: "#eef1f4", stroke: "#fff" });
    shape(head, "text", { x: LEFT + (bank + 0.5) * CELL, y: 17, "font-size": 10 }, bank);
  }
  shape(svg, "text", { x: LEFT + 32 * CELL + 8, y: 17, "text-anchor": "start", fill: "#57606a" }, "bank");
  instruction.phases.forEach((phase, number) => frame(svg, phase, number, tops[number]));
  cells.forEach((cell) => box(svg, cell, tops[cell.phase] + cell.wavefront * CELL));
  return svg;
}

/** The empty grid of a phase, the numbers of its wavefronts, and what it costs. */
function frame(svg, phase, number, top) {
  const rows = phase.wavefronts;
  for (let row = 0; row < rows; row++) {
    shape(svg, "rect", { x: LEFT, y: top + row * CELL, width: 32 * CELL, height: CELL, fill: "#fff", stroke: "#d5dbe1",
                         "data-row": phase.first + row });
    shape(svg, "text", { x: LEFT - 6, y: top + (row + 0.68) * CELL, "text-anchor": "end", fill: "#57606a" }, phase.first + row);
  }
  for (let bank = 1; bank < 32 && rows; bank++)
    shape(svg, "line", { x1: LEFT + bank * CELL, x2: LEFT + bank * CELL, y1: top, y2: top + rows * CELL, stroke: "#e3e8ec" });
  const cost = rows === 1 ? "1 wavefront" : rows ? `${rows} wavefronts` : "none active";
  const lines = [`phase ${number}`, plural("lane", phase.lanes), cost];
  if (phase.times > 1) lines.push(`in ${phase.times} passes`);
  const said = shape(svg, "text", { "text-anchor": "start", "font-size": rows > 1 ? 11 : 10 });
  const gap = rows > 1 ? 14 : 11, middle = top + Math.max(rows, 1) * CELL / 2 - (lines.length - 1) * gap / 2 + 4;
  lines.forEach((line, i) => shape(said, "tspan", { x: LEFT + 32 * CELL + 8, y: middle + i * gap }, line));
}

/** One word that is served. */
function box(svg, cell, y) {
  const x = LEFT + cell.bank * CELL, wide = cell.width * CELL, g = shape(svg, "g", { "data-cell": cell.id });
  const size = { x: x + 1, y: y + 1, width: wide - 2, height: CELL - 2 };
  shape(g, "rect", { ...size, fill: data.colours[cell.lanes[0] % data.colours.length], class: "fill" });
  if (cell.wavefront) shape(g, "rect", { ...size, fill: "url(#hatch)", stroke: "#000", "stroke-width": 1.2 });
  const parts = label(cell), lines = cell.width === 1 && parts.length > 1 ? parts : [parts.join("")];
  if (cell.wavefront) {
    const room = Math.min(Math.max(...lines.map((line) => line.length)) * 7 + 4, wide - 4);
    shape(g, "rect", { x: x + (wide - room) / 2, y: y + 3, width: room, height: CELL - 6,
                       fill: data.colours[cell.lanes[0] % data.colours.length] });
  }
  const text = shape(g, "text", { fill: "#000", "font-size": lines.length > 1 ? 9 : 12 });
  lines.forEach((line, i) => shape(text, "tspan", { x: x + wide / 2, y: y + (lines.length > 1 ? 10 + 9 * i : CELL * 0.68) }, line));
  shape(g, "rect", { ...size, fill: "none", class: "mark" });
}

/** The lanes of a word in one or two parts, which stand on two lines in a narrow cell. */
function label({ lanes }) {
  const first = lanes[0], last = lanes[lanes.length - 1];
  if (lanes.length === 1) return [`${first}`];
  if (lanes.length === 2) return [`${first},`, `${last}`];
  return last - first === lanes.length - 1 ? [`${first}–`, `${last}`] : [`${first}`, `+${lanes.length - 1}`];
}

/** Lights up what is picked and its partners, and the wavefront `row` (null: all of them). */
function lightGrid(svg, cells, found, row) {
  for (const g of svg.querySelectorAll("[data-cell]")) {
    const cell = cells[Number(g.dataset.cell)], mark = g.querySelector(".mark");
    const on = found && found.cells.has(cell.id), near = found && found.nearCells.has(cell.id);
    g.setAttribute("opacity", (found && !on && !near) || (row !== null && cell.row !== row && !on) ? 0.28 : 1);
    g.classList.toggle("on", Boolean(on));
    g.classList.toggle("near", Boolean(near));
    mark.setAttribute("stroke", on || near ? "#000" : "none");
    mark.setAttribute("stroke-width", on ? 3 : 2);
    mark.setAttribute("stroke-dasharray", on ? "none" : "4 3");
  }
  for (const g of svg.querySelectorAll("[data-bank]"))
    g.firstChild.setAttribute("fill", found && found.banks.has(Number(g.dataset.bank)) ? "#9fc5f0" : "#eef1f4");
  for (const band of svg.querySelectorAll("[data-row]"))
    band.setAttribute("fill", row !== null && Number(band.dataset.row) === row ? "#e3effc" : "#fff");
}
