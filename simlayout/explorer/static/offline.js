// The answers of an exported page. Python stored where the elements of its tiles lie, which of them each lane asks for, and the
// rows of the table of instructions (`stored.py`); a swizzle moves the elements, and what that costs is counted here.

const MOST_KEPT = 4, ANY = "'any layout'", needed = (command) => `more needs Python: ${command || "simlayout explore"}`;

/** The answer about the bench, as Python makes it; or the refusal. */
function storedAnswer() {
  try {
    const bench = benchOf(state), now = laidOut(state.layout, bench), old = state.before ? laidOut(state.before, bench) : null;
    state.shown = Math.min(state.shown, now.uses.length - 1);
    const use = now.uses[state.shown], sum = ({ name, row: { op }, loops, all, exact, addresses }) => ({ name, op, loops, instructions: addresses.length, ...all, exact });
    return { ...textsOf(now), layout: now.layout, op: use.row.op, dtype: use.dtype, arch: now.under.arch, name: use.name, state,
             swizzle: { b: now.b, m: now.b ? now.m : null, s: now.b ? now.s : null, base: now.under.layout }, sliders: !use.recorded && use.row.rule !== "retry",
             tile: tileOf(now), counts: use.each, instruction: instructionOf(now, state.index), provenance: use.row.provenance,
             accesses: now.uses.map((one, i) => ({ ...sum(one), before: old && old.uses[i].all })),
             before: old && { layout: old.layout, tile: tileOf(old), instruction: instructionOf(old, state.index) } };
  } catch (fault) {
    if (!fault.error) throw fault;
    return fault;
  }
}

const refused = (error, field = "layout") => ({ error, field });

/** The bench that a state is about: one tile with its accesses. */
const benchOf = (state) => (state.accesses[0].addresses ? recordedBench(state) : data.stored.benches[state.kernel ? state.part : 0]);

/** The bench of a report's line: addresses in memory as it lies, of which Python wrote the layout (rows,columns):(columns,1). */
function recordedBench({ accesses: [{ name, op, addresses }], layout, dtype, arch }) {
  const [rows, columns] = layout.match(/\d+/g).map(Number), bytes = 128 / columns;
  const begun = addresses.trim().split(/\s+/).map((word, lane) => (word === "-" || !data.stored.rules[op].groups.flat().includes(lane) ? -1 : Number(word) / bytes));
  const access = { name, op, dtype, loops: "", axes: [], warps: 1, command: "", recorded: [begun] };
  return { names: {}, layouts: {}, tiles: [{ layout, arch, rows, columns, modes: [[rows], [columns]], size: rows * columns,
                                             element_bytes: bytes, offsets: Array.from({ length: rows * columns }, (_, i) => i), accesses: [access] }] };
}

/** {tile, b, m, s, texts} of a layout: one that Python answered, or a swizzle of what lies under one; throws a refusal. */
function placed(layout, { layouts, tiles }) {
  if (Object.hasOwn(layouts, layout)) return layouts[layout];
  const [, b, m, s, base] = /^Sw<(\d),(\d),(-?\d)> o (.+)$/.exec(layout) || [0, 0, 0, 0, layout], tile = tiles.findIndex((of) => of.layout === base);
  if (tile < 0) throw refused(`this page holds Sw<B,M,S> o ${tiles[0].layout} with any B, M and S, and what Fix it lists; ${needed()}`);
  if (Math.abs(s) < b) throw refused(`Sw<${b},${m},${s}>: source and target overlap: |S| must be at least B, which is ${b}`);
  return { tile, b: Number(b), m: Number(m), s: Number(s), texts: null };
}

/** Whether a bench holds a layout. */
function holds(text, bench) {
  try { return Boolean(placed(bench.names[text] ?? text, bench)); } catch (fault) { if (!fault.error) throw fault; return false; }
}

/** A layout with the addresses and the costs of all its accesses. Kept for the next question; throws a refusal. */
function laidOut(text, bench) {
  const layout = bench.names[text] ?? text, kept = (bench.kept ||= new Map());
  if (kept.has(layout)) return kept.get(layout);
  const { tile, b, m, s, texts } = placed(layout, bench), under = bench.tiles[tile], move = swizzled(b, m, s);
  const now = { layout, b, m, s, texts, under, bench, offsets: under.offsets.map(move) };
  const made = { ...now, uses: under.accesses.map((access, i) => costsOf(access, texts && texts[i].kept, now, move)) };
  if (kept.set(layout, made).size > MOST_KEPT) kept.delete(kept.keys().next().value);
  return made;
}

/** Sw<b,m,s> as a function of an offset. */
function swizzled(b, m, s) {
  const mask = ((1 << b) - 1) << (m + Math.max(s, 0));
  return s > 0 ? (x) => x ^ ((x & mask) >> s) : (x) => x ^ ((x & mask) << -s);
}

/** An access with its addresses in a layout, bytes [instructions][32], -1 for a lane that takes no part, and what each costs.
    Throws a refusal where the instruction cannot take them. */
function costsOf(access, known, { layout, under, bench }, move) {
  const row = data.stored.rules[access.op], size = under.element_bytes, { bytes } = row;
  const begun = access.recorded || bench.asked[access.asked].map((lanes) => lanes.map((e) => (e < 0 ? -1 : under.offsets[e])));
  const address = (first) => {
    if (first < 0) return -1;
    const at = move(first);
    for (let j = 1; j * size < bytes; j++) if (move(first + j) !== at + j) throw refused(`the ${bytes / size} elements of one ${bytes}-byte access of ${access.name} are not neighbours: a swizzle must keep ${bytes}-byte chunks whole`);
    if (at * size % bytes) throw refused(`${access.name} accesses byte ${at * size}, no multiple of ${bytes}`);
    if (at * size > row.last) throw refused(`${access.name} accesses byte ${at * size}, beyond the shared memory of a CTA`);
    return at * size;
  };
  const addresses = begun.map((lanes) => lanes.map(address)), found = { ...access, row, begun, addresses };
  if (row.rule === "retry" && !known) throw refused(`${access.op} is a loop, whose rounds are not counted in this page; ${needed()}`);
  const costs = known ? [] : addresses.map((lanes) => costOf(row, lanes)), names = ["wavefronts", "ideal", "excess", "conflicts", "least", "most"];
  const each = known ? known.counts : Object.fromEntries(names.map((name) => [name, costs.map((cost) => cost[name])]));
  const exact = known ? known.exact : !row.rival && costs.every((cost) => cost.least === cost.most);
  return { ...found, each, known, costs, exact, caveat: known ? known.caveat : exact ? "" : row.caveat,
           all: Object.fromEntries(names.map((name) => [name, each[name].reduce((a, b) => a + b, 0)])) };
}

/** What one instruction costs, by the row of whichever rule has more excess, where sources disagree; least and most: by
    both, or where its sources in global memory are not known. */
function costOf(row, addresses) {
  const own = costBy(row, addresses), other = row.rival && costBy(row.rival, addresses);
  if (!other) return own;
  return { ...(other.excess > own.excess ? other : own), least: Math.min(own.least, other.least), most: Math.max(own.most, other.most) };
}

function costBy(row, addresses) {
  const phases = phasesOf(row, addresses), active = addresses.filter((at) => at >= 0), different = (size) => new Set(active.map((at) => Math.floor(at / size))).size;
  const ideal = phases.filter((phase) => phase.wavefronts).length, queued = phases.reduce((sum, phase) => sum + phase.wavefronts, 0);
  const least = row.rule === "bypass" ? different(data.stored.line) : queued;
  const most = row.rule === "bypass" ? different(row.bytes) : row.rule === "copy" ? active.length : queued;
  const wavefronts = Math.max(least, Math.min(most, queued));
  return { wavefronts, ideal, excess: wavefronts - ideal, conflicts: row.rule === "bypass" ? 0 : wavefronts / row.times - ideal, least, most, row };
}

/** The groups of lanes that are served together and their words, first come, first served, as `hardware.banks.phases` has them. */
function phasesOf(row, addresses, groups) {
  const size = Math.max(row.bytes, data.stored.word), width = size / data.stored.word, words = addresses.map((at) => (at < 0 ? -1 : Math.floor(at / size)));
  const agree = (by) => words.every((word, lane) => word < 0 || words[lane ^ by] < 0 || word === words[lane ^ by]), phases = [];
  let first = 0;
  for (const lanes of groups || (row.paired && (agree(1) || agree(2)) ? row.paired : row.groups)) {
    const queues = new Map(), served = [];
    for (const lane of lanes) {
      if (words[lane] < 0) continue;
      const bank = words[lane] % (row.banks / width), queue = queues.get(bank) || [], same = row.merges && queue.find((one) => one.word === words[lane]);
      if (same) same.lanes.push(lane);
      else queues.set(bank, [...queue, { word: words[lane], lanes: [lane] }]);
    }
    const passes = Math.max(0, ...[...queues.values()].map((queue) => queue.length));
    for (let turn = 0; turn < row.times; turn++)
      for (const [bank, queue] of queues) queue.forEach((one, i) => served.push({ wavefront: turn * passes + i, bank: bank * width, width, word: one.word * width, lanes: one.lanes }));
    served.sort((a, b) => a.wavefront - b.wavefront || a.bank - b.bank);
    phases.push({ lanes, wavefronts: passes * row.times, times: row.times, first, served });
    first += passes * row.times;
  }
  return phases;
}

/** The phases as they are drawn: of cp.async.cg the lines that it writes, where these are what was counted. */
function shownPhases(row, addresses) {
  const lines = new Map(), line = (at) => Math.floor(at / data.stored.line);
  addresses.forEach((at, lane) => { if (at >= 0 && addresses.indexOf(at) === lane) lines.set(line(at), [...(lines.get(line(at)) || []), lane]); });
  const counted = row.rule === "bypass" && lines.size === costBy(row, addresses).wavefronts;
  return phasesOf(row, addresses, counted ? [...lines.values()] : null);
}

/** One instruction of the shown access, with what each lane touches. */
function instructionOf(now, wanted) {
  const use = now.uses[state.shown], index = Math.min(wanted, use.addresses.length - 1), known = use.known, size = now.under.element_bytes;
  const row = known ? use.row : use.costs[index].row, phases = known ? [] : shownPhases(row, use.addresses[index]), owner = (now.owner ||= ownersOf(now.under.offsets));
  const touched = (first) => Array.from({ length: Math.max(use.row.bytes / size, 1) }, (_, j) => owner[first + j]).filter((e) => e >= 0);
  const found = { index, loops: loopsOf(use, index), ...Object.fromEntries(Object.entries(use.each).map(([name, each]) => [name, each[index]])), exact: use.exact,
                  caveat: use.caveat, banks: row.banks, phases, note: known ? known.note : "", lanes: use.begun[index].map((first) => (first < 0 ? [] : touched(first))) };
  return { ...found, explanation: known ? known.explanations[index] || "" : explained(use, found) };
}

/** [element] of every offset, -1 where there is none. */
function ownersOf(offsets) {
  const owner = new Int32Array(offsets.reduce((a, b) => Math.max(a, b), 0) + 1).fill(-1);
  offsets.forEach((offset, element) => { owner[offset] = element; });
  return owner;
}

/** "k = 3, warp 1", or "wave 1": the turn of each loop in which an instruction is executed, the last one and then the warp fastest. */
function loopsOf({ axes, warps }, index) {
  const said = warps > 1 ? [`${chipOf(state.arch).warp} ${index % warps}`] : [];
  let left = Math.floor(index / warps);
  for (const [name, trips] of [...axes].reverse()) {
    said.unshift(`${name} = ${left % trips}`);
    left = Math.floor(left / trips);
  }
  return said.join(", ");
}

/** The tile as it is drawn. */
function tileOf({ under: { rows, columns, modes, size, element_bytes }, offsets }) {
  const most = data.stored.most, [high, wide] = [Math.min(rows, most), Math.min(columns, most)], end = offsets.reduce((a, b) => Math.max(a, b), 0) + 1;
  return { rows, columns, shown_rows: high, shown_columns: wide, modes, size, element_bytes, wasted: end - size, bits: 32 - Math.clz32(Math.max(end - 1, 1)),
           offsets: offsets.filter((_, i) => i % columns < wide && i < high * columns) };
}

/** Claims, command and copies: those that Python stored, or how to get them. */
function textsOf({ layout, texts, uses }) {
  if (texts) return texts[state.shown];
  const command = uses[state.shown].command.replace(ANY, `'${layout}'`);
  return { command, claims: [`counted in this page, not proved. ${needed(command)}`], copies: { error: needed(command) } };
}

/** The phases in words, and of each that waits its fullest banks. */
function explained({ row: { op }, addresses }, { index, wavefronts, ideal, excess, conflicts, phases }) {
  const said = [`${op}, access ${index} of ${addresses.length}: ${waves(wavefronts, state.arch)}, ideal ${ideal}, excess ${excess}, conflicts ${conflicts}`];
  phases.forEach((phase, number) => {
    said.push(`  phase ${number}, ${plural("lane", phase.lanes)}: ${waves(phase.wavefronts, state.arch)}`);
    const passes = phase.wavefronts / phase.times, first = phase.served.filter((one) => one.wavefront < passes), held = (bank) => first.filter((one) => one.bank === bank);
    const full = passes > 1 ? first.filter((one) => one.wavefront === passes - 1) : [];
    for (const { bank, width } of full.slice(0, 4)) said.push(`    ${span("bank", bank, width)}: ${held(bank).map((one) => `${span("word", one.word, width)} (${plural("lane", one.lanes)})`).join(", ")}`);
    if (full.length > 4) said.push(`    and ${full.length - 4} more banks as full`);
  });
  return said.join("\n");
}
