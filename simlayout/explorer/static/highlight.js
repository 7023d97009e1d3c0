// Who belongs to what is picked: joins of the lists that Python sent. Nothing about the hardware is computed here.

/** [{wavefront, bank, width, word, lanes, phase, row, id}] of all phases; row: the wavefront counted over the instruction. */
function cellsOf(instruction) {
  return instruction.phases.flatMap((phase, number) => phase.served.map((s) =>
    ({ ...s, phase: number, row: phase.first + s.wavefront }))).map((cell, id) => ({ ...cell, id }));
}

const wave = () => chipOf(answer.arch).wavefront;
const covers = (cell, bank) => cell.bank <= bank && bank < cell.bank + cell.width;
const meet = (a, b) => a.phase === b.phase && a.bank < b.bank + b.width && b.bank < a.bank + a.width;

/** {lanes, banks, cells, elements: what is picked; nearLanes, nearCells, nearElements: its partners; text}, or null. */
function partners(pick, answer, cells) {
  const { instruction, tile } = answer;
  const found = { lanes: new Set(), banks: new Set(), cells: new Set(), elements: new Set(), nearLanes: new Set(),
                  nearCells: new Set(), nearElements: new Set(), text: "" };
  const start = starts[pick.kind](pick.id, instruction, tile, cells);
  if (!start) return null;
  for (const cell of start.cells) {
    found.cells.add(cell.id);
    for (const lane of cell.lanes) (start.lanes.includes(lane) ? found.lanes : found.nearLanes).add(lane);
    for (let bank = cell.bank; bank < cell.bank + cell.width; bank++) found.banks.add(bank);
    for (const other of cells) {
      if (other.id === cell.id || !meet(cell, other)) continue;
      found.nearCells.add(other.id);
      other.lanes.forEach((lane) => found.nearLanes.add(lane));
    }
  }
  start.lanes.forEach((lane) => { found.lanes.add(lane); found.nearLanes.delete(lane); });
  start.banks.forEach((bank) => found.banks.add(bank));
  found.cells.forEach((id) => found.nearCells.delete(id));
  start.elements.forEach((element) => found.elements.add(element));
  found.nearLanes.forEach((lane) => instruction.lanes[lane].forEach((e) => found.nearElements.add(e)));
  start.nearElements.forEach((e) => found.nearElements.add(e));
  found.text = start.text + meetings(start, found);
  return found;
}

function meetings(start, found) {
  const lanes = [...found.nearLanes].sort((a, b) => a - b);
  return lanes.length && start.meets ? `; ${start.meets} ${plural("lane", lanes)}` : "";
}

const starts = {
  lane(id, instruction, tile, cells) {
    if (id >= instruction.lanes.length) return null;
    const its = cells.filter((cell) => cell.lanes.includes(id)), elements = instruction.lanes[id];
    if (!elements.length) return { cells: its, lanes: [id], banks: [], elements, nearElements: [],
                                   text: `lane ${id} takes no part` };
    const where = its.length ? `, ${span("bank", its[0].bank, its[0].width)}, phase ${its[0].phase}, ${wave()} ${its[0].row}` : "";
    return { cells: its, lanes: [id], banks: [], elements, nearElements: [], meets: "in the same banks:",
             text: `lane ${id}: ${place(elements[0], tile)}${elements.length > 1 ? ` and ${elements.length - 1} more` : ""}${where}` };
  },
  bank(id, instruction, tile, cells) {
    if (id >= instruction.banks) return null;
    const its = cells.filter((cell) => covers(cell, id)), lanes = [...new Set(its.flatMap((cell) => cell.lanes))];
    const wide = Math.max(tile.element_bytes / 4, 1);
    const held = elementsIn(id, wide, tile);
    const turns = new Set(its.map((cell) => cell.row)).size;
    return { cells: its, lanes, banks: [id], elements: lanes.flatMap((lane) => instruction.lanes[lane]), nearElements: held,
             text: lanes.length ? `bank ${id}: wanted by ${plural("lane", lanes.sort((a, b) => a - b))}, in ` +
               waves(turns) : `bank ${id}: no lane wants it` };
  },
  element(id, instruction, tile, cells) {
    const where = at(id, tile);
    if (where < 0) return null;
    const lanes = instruction.lanes.flatMap((its, lane) => (its.includes(id) ? [lane] : []));
    const bank = tile.banks[where];
    const its = cells.filter((cell) => covers(cell, bank) && cell.lanes.some((lane) => lanes.includes(lane)));
    return { cells: its, lanes, banks: [bank], elements: [id], meets: "in the same banks:",
             nearElements: lanes.flatMap((lane) => instruction.lanes[lane]),
             text: `${place(id, tile)}: offset ${tile.offsets[where]}, byte ${tile.offsets[where] * tile.element_bytes}, bank ${bank}` +
               (lanes.length ? `, moved by ${plural("lane", lanes)}` : ", not touched by this instruction") };
  },
  cell(id, instruction, tile, cells) {
    const cell = cells[id];
    if (!cell) return null;
    return { cells: [cell], lanes: [...cell.lanes], banks: [], elements: cell.lanes.flatMap((lane) => instruction.lanes[lane]),
             nearElements: [], meets: "in the same banks:",
             text: `${span("word", cell.word, cell.width)} of ${span("bank", cell.bank, cell.width)} for ` +
               `${plural("lane", cell.lanes)}, phase ${cell.phase}, ${wave()} ${cell.row}` };
  },
};

/** The place of an element in the lists of the drawn part of the tile; -1 if it is not drawn. */
function at(element, tile) {
  const row = Math.floor(element / tile.columns), column = element % tile.columns;
  return row < tile.shown_rows && column < tile.shown_columns ? row * tile.shown_columns + column : -1;
}

/** The elements that are drawn and lie in a bank. wide: banks that one fills. */
function elementsIn(bank, wide, tile) {
  const found = [];
  tile.banks.forEach((first, i) => { if (first <= bank && bank < first + wide) found.push(Math.floor(i / tile.shown_columns) * tile.columns + i % tile.shown_columns); });
  return found;
}

/** Where an element is: its row and column, and of a tile of more or nested modes its coordinate, the first number fastest. */
function place(element, tile) {
  const row = Math.floor(element / tile.columns), column = element % tile.columns;
  if (tile.modes.length < 3 && tile.modes.every((mode) => mode.length === 1)) return `row ${row}, column ${column}`;
  const split = (number, sizes) => sizes.map((size) => { const digit = number % size; number = Math.floor(number / size); return digit; });
  const first = tile.modes.length > 1 ? 1 : 0, sizes = tile.modes.slice(first).map((mode) => mode.reduce((a, b) => a * b, 1));
  const digits = [...(first ? [row] : []), ...split(column, sizes)];
  const shown = digits.map((digit, i) => (tile.modes[i].length > 1 ? `(${split(digit, tile.modes[i]).join(", ")})` : digit));
  return `coordinate (${shown.join(", ")}), row ${row}, column ${column}`;
}
const span = (what, first, width) => (width > 1 ? `${what}s ${first}–${first + width - 1}` : `${what} ${first}`);

/** "lane 3", "lanes 0–3, 8". */
function plural(what, numbers) {
  const runs = [];
  for (const n of numbers) {
    if (runs.length && runs[runs.length - 1][1] === n - 1) runs[runs.length - 1][1] = n;
    else runs.push([n, n]);
  }
  return `${what}${numbers.length > 1 ? "s" : ""} ${runs.map(([a, b]) => (a === b ? a : `${a}–${b}`)).join(", ")}`;
}
