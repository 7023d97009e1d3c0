"""Random kernels on global memory: their instructions, statements, and text made of those."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from machine_kit import Instruction, atom_relaxed, atomic_add, ctaid_x, tid_x, wait_at_least
from written_source import functions_of

COUNTERS = 64                                            # before them one for each statement that needs one
SIZE, ROW, BOX_ROWS = 512, 32, 4                         # bytes of global memory, of a row of the tensor, rows of a box
STAGE, MBARRIERS = 2048, 131072                          # shared bytes per statement; mbarriers behind
WIDTHS = 1, 2, 4, 8, 16

# ---- the instructions of the kernels --------------------------------------------------------------------------------


def _load(width, strong):
    return Instruction(lambda warp, pointer: pointer.read(warp.active, width, strong=strong))


def _store(width, strong):
    return Instruction(lambda warp, pointer, value:
                       pointer.write(warp.active, np.full((32, width), value, np.uint8), strong=strong))


def _copy(width):
    def twin(warp, pointer, stage):
        warp.commit_copy(f"cp.async.ca.{width}", stage + width * warp.tid, pointer.read(warp.active, width, copy=warp))

    return Instruction(twin)


@Instruction
def box_load(warp, tensor, coords, stage, mbarrier):
    warp.mbarrier_init(mbarrier, 1)
    warp.fence_proxy_async()
    warp.mbarrier_arrive(mbarrier, expect=tensor.box_bytes)
    warp.tma_load(tensor, coords, stage, mbarrier)


@Instruction
def filled(warp, stage, value):
    warp.shared_store("st.shared.b32", stage + 4 * warp.lane, np.full((32, 4), value, np.uint8))
    warp.fence_proxy_async()


@Instruction
def box_store(warp, tensor, coords, stage):
    warp.fence_proxy_async()
    warp.tma_store(tensor, coords, stage)


@Instruction
def box_add(warp, tensor, coords, stage):
    warp.fence_proxy_async()
    warp.tma_reduce(tensor, coords, stage)


came = []                                                # [(CTA, line)] in the order in which atomics came to counters


@Instruction
def count(warp, pointer):
    if warp.active.any():
        came.append((warp.index[0], warp.site[1]))
    warp.atomic_add(pointer, 1)


NAMES = {
    "tid_x": tid_x, "ctaid_x": ctaid_x, "release": atomic_add, "acquire": wait_at_least, "count": count,
    "count_relaxed": atom_relaxed,
    **{f"{how}load_{w}": _load(w, bool(how)) for w in WIDTHS for how in ("", "strong_")},
    **{f"{how}store_{w}": _store(w, bool(how)) for w in WIDTHS for how in ("", "strong_")},
    **{f"copy_{w}": _copy(w) for w in (4, 8, 16)}, "box_load": box_load, "box_store": box_store, "box_add": box_add,
    "filled": filled,
    "sync": Instruction(lambda warp: warp.sync(sum(1 << int(i) for i in np.flatnonzero(warp.active)))),
    "commit": Instruction(lambda warp: warp.commit_group()),
    "wait": Instruction(lambda warp, pending: warp.wait_group(pending)),
    "bulk_commit": Instruction(lambda warp: warp.bulk_commit()),
    "bulk_wait": Instruction(lambda warp, pending, read: warp.bulk_wait(pending, read=read)),
    "box_wait": Instruction(lambda warp, mbarrier: warp.mbarrier_wait(mbarrier, 0)),
    "bar": Instruction(lambda warp: warp.barrier()),
    "bar_some": Instruction(lambda warp, id, threads: warp.barrier(id, threads)),
    "cluster_sync": Instruction(lambda warp: warp.cluster_sync()),
}

# ---- statements: (name, *numbers) of whom: (CTA or None, warp or None, lanes) -----------------------------------------

LANES = {"": lambda t: True, "tid % 3 == 1": lambda t: t % 3 == 1, "tid % 32 < 5": lambda t: t % 32 < 5,
         "tid % 32 == 7": lambda t: t % 32 == 7, "tid % 32 == 0": lambda t: t % 32 == 0}


@dataclass
class Shape:
    """How a kernel runs."""

    ctas: int
    warps: int
    mode: str                                            # "alone", "together" or "cluster"

    @property
    def options(self):
        return {"together": self.mode == "together", "cluster": self.ctas if self.mode == "cluster" else 1}


shapes = st.one_of(st.builds(Shape, st.just(1), st.integers(1, 3), st.sampled_from(["alone", "together", "cluster"])),
                   st.builds(Shape, st.just(2), st.integers(1, 2), st.sampled_from(["alone", "together", "cluster"])),
                   st.builds(Shape, st.integers(3, 4), st.just(1), st.sampled_from(["alone", "together"])))
whom = st.tuples(st.sampled_from([None, None, 0, 1, 2]), st.sampled_from([None, None, 0, 1, 2]))
lanes = st.sampled_from(["", "", "", *LANES])
place = (st.sampled_from([1, 1, 1, 1, 3]), st.sampled_from([0, 0, 0, 1, 32, 7]), st.sampled_from([0, 0, 16, 32]))
boxes = (st.sampled_from([0, 0, 16, -16]), st.integers(-2, 15))
written_boxes = (st.sampled_from([0, 0, 16]), st.integers(0, 15))        # a GPU writes no box at negative coordinates
one_lane = st.just("tid % 32 == 0")
STATEMENTS = st.one_of(
    st.tuples(whom, lanes, st.tuples(st.sampled_from([f"load_{w}" for w in WIDTHS]), *place)),
    st.tuples(whom, lanes, st.tuples(st.sampled_from([f"store_{w}" for w in WIDTHS]), *place)),
    st.tuples(whom, lanes, st.tuples(st.sampled_from(["strong_load_4", "strong_store_4", "strong_store_2"]), *place)),
    st.tuples(whom, lanes, st.tuples(st.sampled_from(["copy_4", "copy_8", "copy_16"]), *place)),
    st.tuples(whom, st.just(""), st.sampled_from([("commit",), ("wait", 0), ("wait", 1)])),
    st.tuples(whom, one_lane, st.one_of(
        st.tuples(st.just("box_load"), *boxes),
        st.tuples(st.sampled_from(["box_store", "box_store", "box_add"]), *written_boxes))),
    st.tuples(whom, one_lane, st.sampled_from([("bulk_commit",), ("bulk_wait", 0, True), ("bulk_wait", 0, False),
                                               ("bulk_wait", 1, False), ("box_wait", 0), ("box_wait", 1)])),
    st.tuples(whom, lanes, st.just(("sync",))),
    st.tuples(st.tuples(st.sampled_from([None, 0, 1]), st.none()), st.just(""), st.just(("bar",))),
    st.tuples(st.tuples(st.sampled_from([None, 0]), st.none()), st.just(""), st.just(("bar",))),
    st.just(((None, None), "", ("cluster_sync",))),
    st.tuples(st.tuples(st.sampled_from([None, 1]), st.none()), st.just(""), st.just(("bar_some",))),
    st.tuples(st.just((None, None)), st.just(""), st.tuples(st.just("hand"), *[st.integers(0, 3)] * 4)),
    st.tuples(st.tuples(st.sampled_from([None, 0, 1, 2]), st.sampled_from([0, 0, 1])), st.just("tid % 32 == 0"),
              st.tuples(st.sampled_from(["count", "count", "count", "count_relaxed"]), st.integers(0, 1))),
)


@st.composite
def handing_on(draw):
    """(Shape, statements) of CTAs that run one after the other: each counts, touches a few bytes, counts again."""
    shape, statements = draw(st.builds(Shape, st.integers(3, 5), st.integers(1, 2), st.just("alone"))), []
    for cta in range(shape.ctas):
        all_of = (cta, None), ""
        names = st.sampled_from(["load_4", "load_4", "store_4", "load_2", "strong_load_4", "strong_store_4", "copy_4"])
        plain = st.tuples(names, st.just(1), st.sampled_from([0, 0, 1]), st.just(0))
        box = st.tuples(st.sampled_from(["box_store", "box_load"]), st.just(0), st.just(0))
        touches = st.one_of(
            st.tuples(st.tuples(st.just(cta), st.sampled_from([None, 0, 1])), lanes, plain),
            st.tuples(st.just((cta, 0)), one_lane, box))
        over = [(*all_of, ("commit",)), (*all_of, ("wait", 0)), ((cta, 0), "tid % 32 == 0", ("bulk_commit",)),
                ((cta, 0), "tid % 32 == 0", ("bulk_wait", 0, False)), (*all_of, ("bar",))]
        statements += draw(st.lists(_counts(cta), max_size=1)) + draw(st.sampled_from([[(*all_of, ("bar",))], []]))
        statements += draw(st.lists(touches, min_size=1, max_size=2)) + draw(st.sampled_from([over, over, over[:3], []]))
        statements += draw(st.lists(_counts(cta), max_size=2))
    return shape, statements


def _counts(cta):
    return st.tuples(st.just((cta, 0)), one_lane, st.tuples(st.just("count"), st.integers(0, 2)))


def value_of(number):
    """What a statement stores: so few values that stores of one value meet, and one that is there from the start."""
    return number % 3


def width_of(name):
    return int(name.rpartition("_")[2])


class Program:
    """The lines of a kernel, [(text, line, statement's number, whom, lanes, statement)], and their text."""

    def __init__(self, shape, statements):
        self.shape, self.lines = shape, []
        self.text = ["def kernel(a, m, counters):", "    tid = tid_x()", "    cta = ctaid_x()"]
        for number, (who, lanes, (name, *rest)) in enumerate(statements):
            cta, warp = who
            if (cta or 0) >= shape.ctas or (warp or 0) >= shape.warps:
                continue
            box = f"m, ({rest[0] // 4}, {rest[1]})" if name.startswith("box") and len(rest) == 2 else ""
            if name == "hand":
                most = (shape.ctas, shape.warps) * 2
                from_cta, from_warp, to_cta, to_warp = (n % m for n, m in zip(rest, most, strict=True))
                if from_cta <= to_cta or shape.mode != "alone":
                    self.add(number, (from_cta, from_warp), "tid % 32 == 0", ("release",), f"counters + {4 * number}, 1")
                    self.add(number, (to_cta, to_warp), "", ("acquire",), f"counters + {4 * number}, 1")
            elif name.startswith("count"):
                self.add(number, who, lanes, (name, *rest), f"counters + {4 * (COUNTERS + rest[0])}" + (
                    ", 1" if name == "count_relaxed" else ""))
            elif name == "bar_some":
                if shape.warps > 1:
                    self.add(number, who, "tid < 64", (name,), "1, 64")
            elif name == "cluster_sync":
                if shape.mode == "cluster":
                    self.add(number, who, "", (name,), "")
            elif name == "box_load":
                at = (number * 4) * 8
                self.add(number, who, lanes, (name, *rest),
                         f"{box}, {STAGE * number} + tid // 32 * 128, {MBARRIERS + at} + tid // 32 * 8")
            elif name in ("box_store", "box_add"):
                stage = f"{STAGE * number} + tid // 32 * 128"
                self.add(number, who, "", ("filled",), f"{stage}, {number + 1}")
                self.add(number, who, "", ("sync",), "")
                self.add(number, who, lanes, (name, *rest), f"{box}, {stage}")
            elif name == "box_wait":
                before = [(n, *at) for _, n, *at, s in self.lines if s[0] == "box_load"]
                if len(before) > rest[0]:                # of those who issued it, whoever waits now
                    n, whose, _ = before[rest[0]]
                    self.add(number, whose, lanes, (name, n), f"{MBARRIERS + n * 32} + tid // 32 * 8")
            elif "load" in name or "store" in name or "copy" in name:
                width, (slope, start, shift) = width_of(name), rest
                index = f"{width} * (({slope} * tid + {start} + {shift} * cta) % {SIZE // width})"
                more = f", {value_of(number)}" if "store" in name else f", {STAGE * number}" if "copy" in name else ""
                self.add(number, who, lanes, (name, *rest), f"a + {index}{more}")
            else:
                self.add(number, who, lanes, (name, *rest), ", ".join(map(str, rest)))

    def add(self, number, who, lanes, statement, arguments):
        cta, warp = who
        tests = [*([f"cta == {cta}"] if cta is not None else ()), *([f"tid // 32 == {warp}"] if warp is not None else ())]
        indent = "    "
        for test in (*tests, *filter(None, [lanes])):
            self.text.append(f"{indent}if {test}:")
            indent += "    "
        self.text.append(f"{indent}{statement[0]}({arguments})")
        self.lines.append((len(self.text), number, who, lanes, statement))

    def kernel(self):
        return functions_of("\n".join([*self.text, "    bar()"]) + "\n", dict(NAMES))["kernel"]
