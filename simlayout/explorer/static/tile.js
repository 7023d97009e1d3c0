// The tile on a canvas: every element, coloured by its banks or by the lane that moves it.
const MARGIN = { left: 34, top: 18 };
const MOST_PIXELS = 16e6;          // of the picture: what browsers draw without delay
const UNTOUCHED = "#eceff2";

/** {cw, ch, width, height}: the size of an element and of the picture, in CSS pixels. zoom: steps from what fits; room: a box. */
function tileSize(tile, room, zoom) {
  const by = 1.5 ** zoom, most = Math.sqrt(MOST_PIXELS / (tile.shown_rows * tile.shown_columns));
  const w = room.width - MARGIN.left - 14, h = room.height - MARGIN.top - 12;
  const limited = (least, most, size) => Math.max(least, Math.min(most, size));
  const cw = limited(1, Math.min(60, most * 1.4), limited(1, 36, w / tile.shown_columns) * by), ch = limited(1, Math.min(40, most), limited(2, 24, h / tile.shown_rows) * by);
  const whole = (x) => (x >= 4 ? Math.floor(x) : x);
  return { cw: whole(cw), ch: whole(ch), width: MARGIN.left + whole(cw) * tile.shown_columns + 2, height: MARGIN.top + whole(ch) * tile.shown_rows + 2 };
}

/** An answer of Python's, in which the offsets of tiles are base64 of int32, with arrays of them. */
function withOffsets(found) {
  for (const { tile } of [found, found.before].filter(Boolean)) {
    const text = atob(tile.offsets), bytes = new Uint8Array(text.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
    tile.offsets = new Int32Array(bytes.buffer);
  }
  return found;
}

/** The bank, of as many as serve the instruction, and the four neighbouring banks of every element, of the offsets that
    Python sent. */
function withBanks(tile, banks) {
  const n = tile.offsets.length;
  tile.banks = new Uint8Array(n);
  tile.chunks = new Uint8Array(n);
  for (let i = 0; i < n; i++) {
    const byte = Math.floor(tile.offsets[i] * tile.element_bytes);
    tile.banks[i] = (byte >> 2) % banks;
    tile.chunks[i] = tile.banks[i] >> 2;
  }
  return tile;
}

/** {element: lane} of an instruction; of several lanes the lowest. */
function laneOf(instruction) {
  const owner = new Map();
  instruction.lanes.forEach((its, lane) => its.forEach((e) => { if (!owner.has(e)) owner.set(e, lane); }));
  return owner;
}

/** Runs of neighbours of a row that look alike: [{row, first, count, fill, alpha, text, ink}]. */
function tileRuns(answer, colour, row) {
  const { tile, instruction } = answer, owner = laneOf(instruction), runs = [], beside = instruction.banks / 4 / data.colours.length;
  const served = row === null ? null : new Set(cellsOf(instruction).filter((c) => c.row === row).flatMap((c) => [...c.lanes]));
  for (let r = 0; r < tile.shown_rows; r++) {
    let run = null;
    for (let c = 0; c < tile.shown_columns; c++) {
      const i = r * tile.shown_columns + c, lane = owner.get(r * tile.columns + c);
      const touched = lane !== undefined && (!served || served.has(lane));
      if (run && run.chunk === tile.chunks[i] && run.lane === lane && tile.offsets[i] === tile.offsets[i - 1] + 1) {
        run.count++;
        run.last = tile.banks[i];
        continue;
      }
      const fill = colour === "bank" ? data.colours[Math.floor(tile.chunks[i] / beside)]
        : lane === undefined ? UNTOUCHED : data.colours[lane % data.colours.length];
      run = { chunk: tile.chunks[i], lane, row: r, first: c, count: 1, fill, touched, bank: tile.banks[i], last: tile.banks[i],
              alpha: touched ? 1 : colour === "bank" ? 0.3 : lane === undefined ? 1 : 0.4 };
      runs.push(run);
    }
  }
  for (const run of runs) {
    const banks = run.last > run.bank ? `${run.bank}–${run.last}` : String(run.bank);
    run.text = colour === "bank" ? banks : run.lane === undefined ? "" : String(run.lane);
  }
  return runs;
}

/** Draws the runs and the numbers of rows and columns. */
function drawTile(context, tile, runs, size, moved) {
  const ink = palette();
  context.fillStyle = ink.paper;
  context.fillRect(0, 0, size.width, size.height);
  context.textBaseline = "middle";
  if (size.ch < 10) drawPixels(context, tile, runs, size);         // too low for a frame or a number
  else drawRuns(context, runs, size, ink);
  if (moved.length) drawMoved(context, tile, moved, runs, size);
  for (const [text, x, y, align] of tileNumbers(tile, size)) {
    context.font = "10px system-ui, sans-serif";
    context.fillStyle = ink.soft;
    context.textAlign = align;
    context.fillText(text, x, y);
  }
}

/** The runs as one picture of a pixel for each element, drawn larger, which is faster than thousands of rectangles. */
function drawPixels(context, tile, runs, size) {
  const small = document.createElement("canvas"), [wide, high] = [tile.shown_columns, tile.shown_rows];
  [small.width, small.height] = [wide, high];
  const inner = small.getContext("2d"), picture = inner.createImageData(wide, high), pixels = new DataView(picture.data.buffer);
  for (const run of runs) {
    const colour = Number.parseInt(run.fill.slice(1), 16) * 256 + Math.round(run.alpha * 255), first = run.row * wide + run.first;
    for (let i = first; i < first + run.count; i++) pixels.setUint32(4 * i, colour);
  }
  inner.putImageData(picture, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, MARGIN.left, MARGIN.top, wide * size.cw, high * size.ch);
}

/** The runs as frames with numbers. */
function drawRuns(context, runs, size, ink) {
  context.textAlign = "center";
  for (const run of runs) {
    const [x, y, w] = [MARGIN.left + run.first * size.cw, MARGIN.top + run.row * size.ch, run.count * size.cw];
    context.globalAlpha = run.alpha;
    context.fillStyle = run.fill;
    context.fillRect(x, y, w, size.ch);
    context.globalAlpha = 1;
    context.strokeStyle = ink.paper;
    context.lineWidth = 1;
    context.strokeRect(x + 0.5, y + 0.5, w - 1, size.ch - 1);
    const font = Math.min(12, size.ch - 3);
    if (font >= 8 && run.text && run.text.length * font * 0.62 < w - 2) {
      context.font = `${font}px system-ui, sans-serif`;
      context.fillStyle = run.touched ? "#000" : run.alpha < 1 ? ink.ink : "#333";
      context.fillText(run.text, x + w / 2, y + size.ch / 2 + 0.5);
    }
  }
}

/** A dark corner on every run with an element that lies elsewhere than in the pinned layout. */
function drawMoved(context, tile, moved, runs, size) {
  const side = Math.max(1.5, Math.min(7, size.ch / 2)), elsewhere = new Set(moved);
  context.fillStyle = "#000";
  context.beginPath();
  for (const run of runs) {
    const first = run.row * tile.shown_columns + run.first;
    let i = first;
    while (i < first + run.count && !elsewhere.has(i)) i++;
    if (i === first + run.count) continue;
    const x = MARGIN.left + (run.first + run.count) * size.cw - 1, y = MARGIN.top + run.row * size.ch + 1;
    context.moveTo(x - side, y); context.lineTo(x, y); context.lineTo(x, y + side); context.closePath();
  }
  context.fill();
}

/** [text, x, y, align] of the numbers beside rows and above columns, as many as have room. */
function tileNumbers(tile, size) {
  const made = [], stride = (pixels, room) => [1, 2, 4, 8, 16, 32, 64].find((n) => n * pixels >= room) || 128;
  for (let c = 0; c < tile.shown_columns; c += stride(size.cw, 22))
    made.push([String(c), MARGIN.left + (c + 0.5) * size.cw, 9, "center"]);
  for (let r = 0; r < tile.shown_rows; r += stride(size.ch, 12))
    made.push([String(r), MARGIN.left - 5, MARGIN.top + (r + 0.5) * size.ch, "right"]);
  return made;
}

/** Frames what is picked, its partners in dashes, and pales the rest. base: the canvas without marks; scale: its pixels. */
function lightTile(context, tile, found, cursor, size, base, scale, seen) {
  const ink = palette();
  if (found) {
    context.fillStyle = ink.veil;
    context.fillRect(MARGIN.left, MARGIN.top, size.width, size.height);
    const [near, own] = [found.nearElements, found.elements].map((set) => rectangles(set, tile, size, seen));
    for (const [x, y, w, h] of [...own, ...near]) context.drawImage(base, x * scale, y * scale, w * scale, h * scale, x, y, w, h);
    outline(context, near, 1, [3, 2], ink.ink);
    outline(context, own, 2.5, [], ink.ink);
  }
  if (cursor !== null) {
    const r = Math.floor(cursor / tile.columns), c = cursor % tile.columns;
    context.setLineDash([]);
    context.strokeStyle = "#0b5cad";
    context.lineWidth = 3;
    context.strokeRect(MARGIN.left + c * size.cw - 1, MARGIN.top + r * size.ch - 1, size.cw + 2, size.ch + 2);
  }
}

/** [x, y, width, height] of the rectangles that some elements make, as far as they are drawn and in sight: neighbours of a row
    together, and runs of neighbours that follow one another down. seen: {x, y, w, h}. */
function rectangles(elements, tile, size, seen) {
  const made = [], drawn = [...elements].filter((e) => at(e, tile) >= 0).sort((a, b) => a - b);
  let open = new Map(), row = -1, above = new Map();
  for (let i = 0; i < drawn.length;) {
    const r = Math.floor(drawn[i] / tile.columns), c = drawn[i] % tile.columns, first = i;
    while (++i < drawn.length && drawn[i] === drawn[i - 1] + 1 && drawn[i] % tile.columns);
    if (r !== row) [above, open, row] = [r === row + 1 ? open : new Map(), new Map(), r];
    const key = `${c} ${i - first}`, box = above.get(key) || { r, c, w: i - first, h: 0 };
    if (!box.h++) made.push(box);
    open.set(key, box);
  }
  return made.map(({ r, c, w, h }) => [MARGIN.left + c * size.cw, MARGIN.top + r * size.ch, w * size.cw, h * size.ch])
    .filter(([x, y, w, h]) => x + w >= seen.x && y + h >= seen.y && x <= seen.x + seen.w && y <= seen.y + seen.h);
}

/** The borders of rectangles. */
function outline(context, boxes, width, dash, colour) {
  context.beginPath();
  for (const box of boxes) context.rect(...box);
  context.setLineDash(dash);
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.stroke();
  context.setLineDash([]);
}

/** The tile as SVG shapes under a parent, for the file. */
function tileShapes(parent, tile, runs, size) {
  for (const run of runs) {
    const [x, y, width] = [MARGIN.left + run.first * size.cw, MARGIN.top + run.row * size.ch, run.count * size.cw];
    shape(parent, "rect", { x, y, width, height: size.ch, fill: run.fill, "fill-opacity": run.alpha, stroke: "#fff" });
    if (run.text && size.ch >= 11 && run.text.length * 6.5 < width - 2)
      shape(parent, "text", { x: x + width / 2, y: y + size.ch / 2 + 3.5, "font-size": Math.min(11, size.ch - 3) }, run.text);
  }
  for (const [text, x, y, align] of tileNumbers(tile, size))
    shape(parent, "text", { x, y: y + 3.5, "font-size": 10, fill: "#57606a",
                            "text-anchor": align === "right" ? "end" : "middle" }, text);
}
