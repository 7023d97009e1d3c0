// The grid of banks and wavefronts as SVG. All of its looks are attributes, so that a copy of it is a file of its own.
const SVG = "http://www.w3.org/2000/svg";
const LEFT = 26, TOP = 20, NORMAL = { w: 22, h: 22, gap: 20 };

let printing = false;           // while a page is printed, all is drawn for paper

/** Whether there is room for two columns; on paper there is none. */
const isWide = () => !printing && matchMedia("(min-width: 901px)").matches;

/** The colours of lines and texts: dark ones on paper, or light ones in the dark. */
function palette(light = printing) {
  return !light && matchMedia("(prefers-color-scheme: dark)").matches
    ? { ink: "#e6edf3", soft: "#9aa6b2", paper: "#161b22", head: "#2a323b", line: "#3a434d", row: "#1c232c", lit: "#2f5c8f", now: "#24405f", veil: "rgba(22,27,34,.66)" }
    : { ink: "#000", soft: "#57606a", paper: "#fff", head: "#eef1f4", line: "#d5dbe1", row: "#fff", lit: "#9fc5f0", now: "#e3effc", veil: "rgba(255,255,255,.66)" };
}

/** The width of what stands beside the phases, which says their lanes. */
const rightOf = ({ phases }) => Math.max(72, ...phases.map((phase) => 12 + 4.9 * plural("lane", phase.lanes).length));

/** The sizes of cells with which a grid fits into a box, as far as its numbers stay readable. */
function gridSize(instruction, room) {
  const rows = instruction.phases.reduce((sum, phase) => sum + Math.max(phase.wavefronts, 1), 0), n = instruction.phases.length;
  const w = Math.max(10, Math.min(27, (room.width - LEFT - rightOf(instruction) - 16) / instruction.banks));
  const gap = Math.max(3, Math.min(18, (room.height - TOP - 14 * rows) / Math.max(n, 1)));
  return { w, h: Math.max(9, Math.min(22, (room.height - TOP - 4 - gap * n) / Math.max(rows, 1))), gap };
}

/** An SVG element with attributes and, perhaps, a text. */
function shape(parent, name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
}

/** The grid of one instruction; its cells carry data-cell, the numbers above them data-bank. */
function drawGrid(instruction, cells, dims = NORMAL, ink = palette()) {
  const tops = [];
  let height = TOP;
  for (const phase of instruction.phases) {
    tops.push(height);
    height += Math.max(phase.wavefronts, 1) * dims.h + dims.gap;
  }
  const { banks } = instruction, width = LEFT + banks * dims.w + rightOf(instruction);
  const svg = shape(null, "svg", { viewBox: `0 0 ${width} ${height}`, width, height, xmlns: SVG, "font-size": 11,
    "font-family": "system-ui, DejaVu Sans, sans-serif", "text-anchor": "middle", role: "img",
    "aria-label": `${waves(instruction.wavefronts)} in ${instruction.phases.length} phases` });
  const hatch = shape(shape(svg, "defs", {}), "pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)" });
  shape(hatch, "line", { x1: 0, y1: 0, x2: 0, y2: 6, stroke: "#000", "stroke-width": 1, "stroke-opacity": 0.45 });
  for (let bank = 0; bank < banks; bank++) {
    const head = shape(svg, "g", { "data-bank": bank });
    shape(head, "rect", { x: LEFT + bank * dims.w, y: 2, width: dims.w, height: 15, fill: ink.head, stroke: ink.paper });
    shape(head, "text", { x: LEFT + (bank + 0.5) * dims.w, y: 13, "font-size": Math.min(10, dims.w * 0.72), fill: ink.ink }, bank);
  }
  shape(svg, "text", { x: LEFT + banks * dims.w + 8, y: 13, "text-anchor": "start", fill: ink.soft }, "bank");
  instruction.phases.forEach((phase, number) => frame(svg, phase, number, tops[number], { ...dims, banks }, ink));
  cells.forEach((cell) => box(svg, cell, tops[cell.phase] + cell.wavefront * dims.h, dims));
  return svg;
}

/** The empty grid of a phase, the numbers of its wavefronts, and what it costs. */
function frame(svg, phase, number, top, dims, ink) {
  const rows = phase.wavefronts, right = LEFT + dims.banks * dims.w;
  for (let row = 0; row < rows; row++) {
    shape(svg, "rect", { x: LEFT, y: top + row * dims.h, width: dims.banks * dims.w, height: dims.h, fill: ink.row, stroke: ink.line,
                         "data-row": phase.first + row });
    shape(svg, "text", { x: LEFT - 4, y: top + (row + 0.5) * dims.h + 3, "text-anchor": "end", fill: ink.soft,
                         "font-size": dims.h < 8 ? 8 : Math.min(10, dims.h) }, dims.h >= 8 || !row ? phase.first + row : "");
  }
  for (let bank = 1; bank < dims.banks && rows; bank++)
    shape(svg, "line", { x1: LEFT + bank * dims.w, x2: LEFT + bank * dims.w, y1: top, y2: top + rows * dims.h, stroke: ink.line });
  const cost = rows ? waves(rows) : "none active", room = rows * dims.h + dims.gap;
  const lines = room > 38 ? [`phase ${number}`, plural("lane", phase.lanes), cost]
    : room > 20 ? [plural("lane", phase.lanes), cost] : [plural("lane", phase.lanes)];
  if (phase.times > 1) lines.push(`in ${phase.times} passes`);
  const said = shape(svg, "text", { "text-anchor": "start", "font-size": 9, fill: ink.ink });
  const middle = top + Math.max(rows, 1) * dims.h / 2 - (lines.length - 1) * 5 + 3.5;
  lines.forEach((line, i) => shape(said, "tspan", { x: right + 6, y: middle + i * 10 }, line));
}

/** One word that is served. */
function box(svg, cell, y, dims) {
  const x = LEFT + cell.bank * dims.w, wide = cell.width * dims.w, g = shape(svg, "g", { "data-cell": cell.id });
  const size = { x: x + 1, y: y + 1, width: wide - 2, height: dims.h - 2 }, fill = data.colours[cell.lanes[0] % data.colours.length];
  shape(g, "rect", { ...size, fill, class: "fill" });
  if (cell.wavefront) shape(g, "rect", { ...size, fill: "url(#hatch)", stroke: "#000", "stroke-width": 1.2 });
  const parts = label(cell), lines = cell.width === 1 && parts.length > 1 && dims.h > 18 ? parts : [parts.join("")];
  const font = Math.min(12, dims.h - 1, lines.length > 1 ? 9 : 12, wide * 0.9 / Math.max(1.2, Math.max(...lines.map((t) => t.length)) * 0.6));
  if (font >= 6.5) {
    if (cell.wavefront) {
      const room = Math.min(Math.max(...lines.map((line) => line.length)) * font * 0.6 + 3, wide - 3);
      shape(g, "rect", { x: x + (wide - room) / 2, y: y + 1.6, width: room, height: dims.h - 3.2, fill });
    }
    const text = shape(g, "text", { fill: "#000", "font-size": font });
    lines.forEach((line, i) => shape(text, "tspan", { x: x + wide / 2, y: y + (lines.length > 1 ? 10 + 9 * i : dims.h / 2 + font * 0.36) }, line));
  }
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
function lightGrid(svg, cells, found, row, ink = palette()) {
  for (const g of svg.querySelectorAll("[data-cell]")) {
    const cell = cells[Number(g.dataset.cell)], mark = g.querySelector(".mark");
    const on = found && found.cells.has(cell.id), near = found && found.nearCells.has(cell.id);
    g.setAttribute("opacity", (found && !on && !near) || (row !== null && cell.row !== row && !on) ? 0.28 : 1);
    g.classList.toggle("on", Boolean(on));
    g.classList.toggle("near", Boolean(near));
    mark.setAttribute("stroke", on || near ? ink.ink : "none");
    mark.setAttribute("stroke-width", on ? 3 : 2);
    mark.setAttribute("stroke-dasharray", on ? "none" : "4 3");
  }
  for (const g of svg.querySelectorAll("[data-bank]"))
    g.firstChild.setAttribute("fill", found && found.banks.has(Number(g.dataset.bank)) ? ink.lit : ink.head);
  for (const band of svg.querySelectorAll("[data-row]"))
    band.setAttribute("fill", row !== null && Number(band.dataset.row) === row ? ink.now : ink.row);
}
