"""Random PTX programs with divergent control flow, and what each thread of them computes: `Made` executes what it writes,
one lane at a time, with `lane_twin`, and knows nothing of simlayout.machine."""

from functools import cache

import numpy as np
from lane_twin import expected, width

from simlayout.machine.ptx.opcodes.lanes import TABLES, lane_op

LANES = 32
REGISTERS = {1: ("%p", 4), 16: ("%h", 4), 32: ("%r", 7), 64: ("%d", 4)}
"""Bits -> (how their names begin, how many the random instructions use)."""

FLOATS = {"f32", "f64", "f16", "f16x2", "bf16", "bf16x2"}
LEFT_OUT = {"div", "rem", "fns", "lop3", "testp", "ex2", "tanh"}
"""By zero, outside of a range, immediate operands, written differently, or not established to the bit."""

HEADER = """.version 9.0
.target sm_90a
.address_size 64
.visible .entry made(.param .u64 seeds, .param .u64 out)
{
.reg .pred %p<6>; .reg .b16 %h<6>; .reg .b32 %r<12>; .reg .b64 %d<12>; .reg .b32 %m<2>; .reg .b32 %n<20>;
.shared .align 16 .b8 slots[4096];
.shared .align 4 .b8 sums[16];
.local .align 8 .b8 own[64];
"""


@cache
def instructions():
    """[(opcode, modifiers, results, sources)] of instructions of sm_90 whose operands are plain registers: without what PTX
    calls approximate, and products that may be fused into sums."""
    found = []
    for form in (form for form in TABLES if int(form.target[3:].rstrip("a")) <= 90):
        for modifiers in form.spelled():
            op = lane_op(form.opcode, modifiers)
            names = (*op.results, *op.sources)
            fused = form.opcode == "mul" and set(modifiers) <= {"ftz", *FLOATS}
            if (not fused and form.opcode not in LEFT_OUT and {"approx", "full"}.isdisjoint(modifiers) and "cc" not in names
                    and len(op.results) == 1 and all(width(name) in REGISTERS for name in names)):
                found.append((form.opcode, modifiers, op.results, op.sources))
    return found


class Made:
    """A random program. text: its PTX; `run()`: what each thread leaves in its registers, uint64 [threads, registers].

    threads: of its CTA. A block is a list of functions (active lanes) -> lanes that go on; beside each stands its text.
    """

    def __init__(self, seed, threads=48, size=14):
        self.rng, self.threads, self.seed = np.random.default_rng(seed), threads, seed
        self.depth, self.labels, self.behind = 0, 0, []
        self.choices = instructions()
        body, self.steps = self.block(size, top=True)
        names = [f"{name}{i}" for name, n in REGISTERS.values() for i in range(n)]
        self.text = "\n".join((HEADER, *self.prologue(), *body, *self.epilogue(names), "ret;", *self.behind, "}"))

    # ---- what the program writes ---------------------------------------------------------------------------------

    def pick(self, *items):
        return items[self.rng.integers(len(items))]

    def register(self, bits):
        name, n = REGISTERS[bits]
        return f"{name}{self.rng.integers(n)}"

    def label(self):
        self.labels += 1
        return f"L{self.labels}"

    def prologue(self):
        lines = ["mov.u32 %r10, %tid.x;", "ld.param.u64 %d10, [seeds];", "mul.wide.u32 %d11, %r10, 256;",
                 "add.u64 %d10, %d10, %d11;"]
        at = 0
        for bits, (name, n) in REGISTERS.items():
            for i in range(n):
                if bits == 1:
                    lines += [f"ld.global.u32 %r11, [%d10+{at}];", "and.b32 %r11, %r11, 1;",
                              f"setp.ne.u32 {name}{i}, %r11, 0;"]
                else:
                    lines.append(f"ld.global.b{bits} {name}{i}, [%d10+{at}];")
                at += 8
        return [*lines, "st.local.b64 [own], %d0;", *(f"st.local.b64 [own+{8 * i}], %d1;" for i in range(1, 8))]

    def epilogue(self, names):
        lines = ["ld.param.u64 %d10, [out];", "add.u64 %d10, %d10, %d11;"]
        for i, name in enumerate(names):
            if name.startswith("%p"):
                lines += [f"selp.u64 %d9, 1, 0, {name};", f"st.global.b64 [%d10+{8 * i}], %d9;"]
            elif name.startswith("%h"):
                lines += [f"cvt.u64.u16 %d9, {name};", f"st.global.b64 [%d10+{8 * i}], %d9;"]
            elif name.startswith("%r"):
                lines += [f"cvt.u64.u32 %d9, {name};", f"st.global.b64 [%d10+{8 * i}], %d9;"]
            else:
                lines.append(f"st.global.b64 [%d10+{8 * i}], {name};")
        return lines

    def block(self, size, top=False, loop=None):
        """(lines, steps)."""
        lines, steps = [], []
        for _ in range(1 + self.rng.integers(size)):
            kinds = ["op"] * 8 + ["guarded", "guarded", "lanes", "lanes", "own"]
            if self.depth < 4:
                kinds += ["if", "if", "loop"]
            if top:
                kinds += ["barrier", "barrier", "exit"]
            if loop is not None:
                kinds += ["leave", "leave", "lanes", "lanes", "lanes"]
            some, step = getattr(self, f"make_{self.pick(*kinds)}")(loop)
            lines, steps = lines + some, [*steps, step]
        return lines, steps

    def make_op(self, loop, guard=None):
        opcode, modifiers, (result,), sources = self.choices[self.rng.integers(len(self.choices))]
        to, given = self.register(width(result)), [self.register(width(name)) for name in sources]
        held = (1 << width(result)) - 1

        def step(state, active):
            for lane in active:
                if guard is None or state[lane][guard]:
                    row = [state[lane][name] for name in given]
                    state[lane][to] = expected(opcode, modifiers, row)[0] & held
            return active

        before = "" if guard is None else f"@{guard} "
        return [f"{before}{'.'.join((opcode, *modifiers))} {', '.join((to, *given))};"], step

    def make_guarded(self, loop):
        return self.make_op(loop, self.register(1))

    def make_own(self, loop):
        """Local memory at a place that each lane computes."""
        index, value, back = self.register(32), self.register(32), self.register(32)

        def step(state, active):
            for lane in active:
                own, at = state[lane]["own"], state[lane][index] & 60
                own[at:at + 4] = state[lane][value].to_bytes(4, "little")
                state[lane][back] = int.from_bytes(own[at & 56:(at & 56) + 4], "little")
            return active

        return [f"and.b32 %r10, {index}, 60;", "cvt.u64.u32 %d9, %r10;", "mov.u64 %d8, own;", "add.u64 %d8, %d8, %d9;",
                f"st.local.b32 [%d8], {value};", "and.b64 %d9, %d9, 56;", "mov.u64 %d8, own;", "add.u64 %d8, %d8, %d9;",
                f"ld.local.b32 {back}, [%d8];"], step

    def make_lanes(self, loop):
        """Votes, shuffles and reductions of the lanes that are here."""
        kind = self.pick("any", "all", "ballot", "match", "add", "max", "xor", "idx", "activemask")
        to, value, truth = self.register(32), self.register(32), self.register(1)
        vote = self.register(1)

        def step(state, active):
            for warp in sorted({lane // LANES for lane in active}):
                here = [lane for lane in active if lane // LANES == warp]
                mask = sum(1 << lane % LANES for lane in here)
                truths = [state[lane][truth] for lane in here]
                values = {lane: state[lane][value] for lane in here}
                signed = [v - (v >> 31 << 32) for v in values.values()]
                made = {"ballot": sum(t << lane % LANES for t, lane in zip(truths, here)), "activemask": mask,
                        "add": sum(values.values()), "max": max(signed), "xor": np.bitwise_xor.reduce([*values.values()])}
                for lane in here:
                    if kind in ("any", "all"):
                        state[lane][vote] = int(any(truths) if kind == "any" else all(truths))
                    elif kind == "match":
                        state[lane][to] = sum(1 << other % LANES for other in here if values[other] == values[lane])
                    elif kind == "idx":
                        state[lane][to] = values[here[0] if lane % 2 else here[-1]]
                    else:
                        state[lane][to] = int(made[kind]) & 0xFFFFFFFF
            return active

        text = {"any": f"vote.sync.any.pred {vote}, {truth}, %m0;", "all": f"vote.sync.all.pred {vote}, {truth}, %m0;",
                "ballot": f"vote.sync.ballot.b32 {to}, {truth}, %m0;", "match": f"match.any.sync.b32 {to}, {value}, %m0;",
                "add": f"redux.sync.add.u32 {to}, {value}, %m0;", "max": f"redux.sync.max.s32 {to}, {value}, %m0;",
                "xor": f"redux.sync.xor.b32 {to}, {value}, %m0;", "activemask": f"mov.b32 {to}, %m0;",
                "idx": "brev.b32 %r10, %m0; clz.b32 %r10, %r10; bfind.u32 %r11, %m0; mov.u32 %m1, %laneid; "
                       "and.b32 %m1, %m1, 1; setp.ne.u32 %p5, %m1, 0; selp.b32 %r10, %r10, %r11, %p5; "
                       f"shfl.sync.idx.b32 {to}, {value}, %r10, 31, %m0;"}[kind]
        return ["activemask.b32 %m0;", *(part + ";" for part in text.split(";")[:-1])], step

    def make_barrier(self, loop):
        """Values pass from thread to thread through shared memory, and into sums."""
        value, back, total = self.register(64), self.register(64), self.register(32)
        turn = int(self.rng.integers(1, 64))

        def step(state, active):
            held = {lane: state[lane][value] for lane in active}
            total_is = sum(state[lane][total] for lane in active) & 0xFFFFFFFF
            for lane in active:
                state[lane][back] = held.get((lane + turn) % 64, 77)
                state[lane][total] = total_is
            return active

        return ["mov.u32 %r10, %tid.x;", "setp.eq.u32 %p5, %r10, 0;", "mov.u32 %r11, slots;", "bar.sync 0;",
                "mov.u64 %d9, 77;", "shl.b32 %n0, %r10, 3;", "add.u32 %n1, %r11, %n0;", *self.cleared(),
                "bar.sync 0;", f"st.shared.b64 [%n1], {value};", f"red.shared.add.u32 [sums], {total};", "bar.sync 0;",
                f"add.u32 %n2, %r10, {turn};", "and.b32 %n2, %n2, 63;", "shl.b32 %n2, %n2, 3;", "add.u32 %n2, %n2, %r11;",
                f"ld.shared.b64 {back}, [%n2];", f"ld.shared.u32 {total}, [sums];"], step

    def cleared(self):
        """Lines by which every warp that is left sets all slots: they write the same, by strong stores."""
        return ["and.b32 %n3, %r10, 31;", "mov.u32 %n4, 0;", "activemask.b32 %m0;", "brev.b32 %m1, %m0;",
                "clz.b32 %m1, %m1;", "setp.eq.u32 %p5, %m1, %n3;", "@%p5 st.relaxed.cta.shared.u32 [sums], %n4;",
                *(f"@%p5 st.relaxed.cta.shared.b64 [slots+{8 * i}], %d9;" for i in range(64))]

    def make_exit(self, loop):
        """Some lanes end: those whose registers match, half of all at most."""
        value = self.register(32)
        bits = int(self.rng.integers(1, 4))

        def step(state, active):
            gone = [lane for lane in active if state[lane][value] & 15 == bits and lane % 3 == 0]
            for lane in gone:
                state[lane]["left"] = True
            return [lane for lane in active if lane not in gone]

        names = [f"{name}{i}" for name, n in REGISTERS.values() for i in range(n)]
        after = self.label()
        return ["mov.u32 %r10, %tid.x;", "rem.u32 %r10, %r10, 3;", f"and.b32 %r11, {value}, 15;",
                "shl.b32 %r10, %r10, 8;", "or.b32 %r10, %r10, %r11;", f"setp.ne.u32 %p5, %r10, {bits};",
                f"@%p5 bra {after};", *self.epilogue(names), self.pick("ret;", "exit;"), f"{after}:"], step

    def make_if(self, loop):
        truth, sense = self.register(1), bool(self.rng.integers(2))
        self.depth += 1
        yes, first = self.block(5, loop=loop)
        no, second = self.block(5, loop=loop) if self.rng.integers(3) else ([], [])
        self.depth -= 1

        def step(state, active):
            ways = [lane for lane in active if bool(state[lane][truth]) is sense], []
            ways = ways[0], [lane for lane in active if lane not in ways[0]]
            left = [self.execute(steps, state, lanes) for steps, lanes in zip((first, second), ways)]
            return sorted(left[0] + left[1])

        there, end = self.label(), self.label()
        not_, yes_ = ("!", "") if sense else ("", "!")
        shape = self.rng.integers(4)
        if shape == 0:
            return [f"@{not_}{truth} bra {there};", *yes, f"bra.uni {end};", f"{there}:", *no, f"{end}:"], step
        if shape == 1:
            return [f"@{yes_}{truth} bra {there};", *no, f"bra {end};", f"{there}:", *yes, f"{end}:"], step
        away, here = (yes, no) if shape == 2 else (no, yes)
        self.behind += [f"{there}:", *away, f"bra {end};"]
        return [f"@{(yes_ if shape == 2 else not_)}{truth} bra {there};", *here, f"{end}:"], step

    def make_loop(self, loop):
        """for (n = 0; n < (register & 3) + 1 or so; ++n), with its own counter."""
        bound, counter, limit = self.register(32), f"%n{5 + 2 * self.depth}", f"%n{6 + 2 * self.depth}"
        self.depth += 1
        head, step_label, end = self.label(), self.label(), self.label()
        shape = self.rng.integers(4)
        here = {"break": end, "continue": head if shape == 3 else step_label, "left": None}
        lines, steps = self.block(6, loop=here)
        self.depth -= 1
        least = int(self.rng.integers(2))

        def step(state, active):
            turns = {lane: (state[lane][bound] & 3) + least for lane in active}
            done, current = [], list(active)
            for turn in range(8):
                done += [lane for lane in current if turn >= turns[lane]]
                current = [lane for lane in current if turn < turns[lane]]
                outer, here["left"] = here["left"], {"break": [], "continue": []}
                on = self.execute(steps, state, current) if current else []
                done += here["left"]["break"]
                current, here["left"] = sorted(on + here["left"]["continue"]), outer
            return sorted(done)

        start = [f"mov.u32 {counter}, 0;", f"and.b32 {limit}, {bound}, 3;", f"add.u32 {limit}, {limit}, {least};"]
        test = f"setp.ge.u32 %p4, {counter}, {limit};"
        more = [f"{step_label}:", f"add.u32 {counter}, {counter}, 1;"]
        if shape == 3:                                   # several ways back to the head
            first = [f"sub.u32 {counter}, {counter}, 1;", f"{head}:", f"add.u32 {counter}, {counter}, 1;", test]
            return [*start, *first, f"@%p4 bra {end};", *lines, f"bra {head};", f"{end}:"], step
        if shape == 0:
            return [*start, f"{head}:", test, f"@%p4 bra {end};", *lines, *more, f"bra {head};", f"{end}:"], step
        if shape == 1:
            return [*start, test, f"@%p4 bra {end};", f"{head}:", *lines, *more, test, f"@!%p4 bra {head};", f"{end}:"], step
        body = self.label()
        self.behind += [f"{body}:", *lines, *more, f"bra {head};"]
        return [*start, f"{head}:", test, f"@!%p4 bra {body};", f"{end}:"], step

    def make_leave(self, loop):
        """break or continue, of the lanes for which a predicate holds."""
        truth, how = self.register(1), self.pick("break", "continue")

        def step(state, active):
            gone = [lane for lane in active if state[lane][truth]]
            loop["left"][how] += gone
            return [lane for lane in active if lane not in gone]

        return [f"@{truth} bra {loop[how]};"], step

    # ---- what it computes ----------------------------------------------------------------------------------------

    def seeds(self):
        """uint8 [threads, 256]: what the registers start with."""
        rng = np.random.default_rng(self.seed + 1)
        made = rng.integers(0, 256, (self.threads, 32, 8), dtype=np.uint8)
        small = rng.random((self.threads, 32)) < 0.4
        made[small, 1:] = 0
        same = rng.random(32) < 0.3
        made[:, same] = made[:1, same]
        return made.reshape(self.threads, 256)

    def run(self):
        """uint64 [threads, 32]: what `text` writes."""
        names = [(f"{name}{i}", bits) for bits, (name, n) in REGISTERS.items() for i in range(n)]
        seeds, state = self.seeds(), []
        for lane in range(self.threads):
            held = {name: int.from_bytes(seeds[lane, 8 * at:8 * at + 8].tobytes(), "little") & (1 << bits) - 1
                    for at, (name, bits) in enumerate(names)}
            own = bytearray(held["%d0"].to_bytes(8, "little") + 7 * held["%d1"].to_bytes(8, "little"))
            state.append(held | {"own": own, "left": False})
        self.execute(self.steps, state, [*range(self.threads)])
        out = np.zeros((self.threads, 32), np.uint64)
        for lane in range(self.threads):
            out[lane, :len(names)] = [state[lane][name] for name, _ in names]
        return out

    def execute(self, steps, state, active):
        """The lanes that go on behind a block."""
        for step in steps:
            if not active:
                break
            active = step(state, active)
        return active
