"""What the lanes of a warp, and the warps of a CTA, do together: barriers, votes, shuffles."""

from dataclasses import dataclass

import numpy as np

from simlayout.errors import MachineError
from simlayout.machine.engine.barriers import BARRIERS
from simlayout.machine.engine.lanes import lane_list
from simlayout.machine.engine.warp import Warp
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.memory.held import PARTED, SYNCED
from simlayout.machine.ptx.opcodes.rows import Place, reader

_LANE = np.arange(32)
_BIT = np.uint64(1) << _LANE.astype(np.uint64)
ALL = 0xFFFFFFFF


def everyone(warp, active):
    """All lanes that have not ended: what steps need that a whole warp executes together."""
    return warp.present


@dataclass(frozen=True, slots=True)
class Exchange:
    """bar.warp.sync ("sync"), a shuffle or a vote as data. member: the row of its membermask; sources: the rows that it
    reads; negated: whether a vote is on what is not so; results: Places, of a shuffle also of whether its source was in
    range."""

    kind: str
    member: int
    sources: tuple[int, ...] = ()
    negated: bool = False
    results: tuple[Place, ...] = ()


def members(row):
    """The lanes that the membermask in a row names, of the active ones."""
    def named(warp, active):
        masks = warp.rows[row]
        outside = active & (masks >> _LANE.astype(np.uint64) & np.uint64(1) == 0)
        if outside.any() and warp.cta.launch.log is not None:
            text = f"{warp.doing.name} by lanes {lane_list(outside)}, which the membermask that they give does not name"
            warp.cta.launch.log.add("divergence", None, warp.place(np.flatnonzero(outside)), what=text)
        return (int(np.bitwise_or.reduce(masks[active])) >> _LANE & 1).astype(bool)

    named.row = row
    return named


def ballot(lanes):
    """The bits of bool [32]."""
    return np.uint64(int(_BIT[lanes].sum()))


def _groups(warp, masks):
    """[(lanes bool [32], their mask)]: active lanes by the membermask that they gave."""
    return [(warp.active & (masks == mask), int(mask)) for mask in np.unique(masks[warp.active])]


def barrier(instruction, names):
    """bar, barrier: sync, arrive, red (PTX ISA: bar, barrier); bar.warp.sync; barrier.cluster."""
    modifiers = [m for m in instruction.modifiers if m not in ("cta", "aligned")]
    if modifiers[0] == "warp":
        row = names.source(instruction.operands[0], "u32").row
        return {"run": lambda warp: _sync_warp(warp, row), "together": members(row), "exchange": Exchange("sync", row)}
    if modifiers[0] == "cluster":
        return _cluster(modifiers[1:])
    if modifiers[0] == "red":
        return _reduce(instruction, modifiers[1:], names)
    operands = [_number(operand, names) for operand in instruction.operands]
    if len(operands) > 2 or not operands:
        raise MachineError("it takes a barrier, and then the number of threads")

    def numbers(warp):
        return [number(warp) for number in operands]

    if modifiers[0] == "sync":
        return {"run": lambda warp: _sync(warp, numbers(warp)), "together": everyone, "meets": _met(instruction.operands)}
    if modifiers[0] == "arrive":
        return {"run": lambda warp: warp.barrier_arrive(*numbers(warp)), "together": everyone}
    raise MachineError(f"the machine has no .{'.'.join(modifiers)} here")


def _number(operand, names):
    """What gives an operand of a barrier, on which the lanes agree."""
    if isinstance(operand, syntax.Integer):
        return lambda warp: operand.value
    row = names.source(operand, "u32").row
    return lambda warp: int(warp.agree(warp.rows[row].view(np.int64), "an operand of a barrier"))


def _met(operands):
    """The number of a barrier of the whole CTA: of one operand that the text gives, and that a CTA has."""
    given = operands[0].value if len(operands) == 1 and isinstance(operands[0], syntax.Integer) else None
    return given if given in range(BARRIERS) else None


def _sync(warp, numbers):
    warp.bring_copies()
    warp.meets_all()
    yield from Warp.barrier.steps(warp, *numbers)
    warp.met_all()


def _sync_warp(warp, row):
    for lanes, mask in _groups(warp, warp.rows[row]):
        outer = warp.active
        warp.narrow(lanes)
        warp.sync(mask)
        warp.who[SYNCED if np.array_equal(lanes, warp.launched) else PARTED] += 1
        warp.narrow(outer)


def _cluster(modifiers):
    if modifiers[0] == "arrive":
        relaxed = "relaxed" in modifiers
        return {"run": lambda warp: warp.cluster_arrive(relaxed), "together": everyone}
    return {"run": lambda warp: Warp.cluster_wait.steps(warp), "together": everyone}


def _reduce(instruction, modifiers, names):
    operation, type = modifiers
    target, *operands = instruction.operands
    predicate, negated = operands[-1], isinstance(operands[-1], syntax.Negated)
    row = names.source(predicate.register if negated else predicate, "pred").row
    numbers = [_number(operand, names) for operand in operands[:-1]]
    to = names.result(target, type)

    def run(warp):
        truth = (warp.rows[row] != negated) & warp.active
        given = [number(warp) for number in numbers]
        warp.meets_all()
        trues, threads = yield from warp.barrier_count(int(truth.sum()), int(warp.active.sum()), *given)
        warp.met_all()
        value = {"popc": trues, "and": trues == threads, "or": trues > 0}[operation]
        warp.give(to, np.full(32, value, np.uint64))

    return {"run": run, "together": everyone, "meets": _met(operands[:-1])}


def vote(instruction, names):
    """vote.sync: all, any, uni, ballot."""
    kind, type = [m for m in instruction.modifiers if m != "sync"]
    if kind not in ("all", "any", "uni", "ballot"):
        raise MachineError("it is vote.sync.all, any, uni or ballot")
    target, predicate, mask = instruction.operands
    negated = isinstance(predicate, syntax.Negated)
    row = names.source(predicate.register if negated else predicate, "pred").row
    member = names.source(mask, "u32").row
    to = names.result(target, type)

    def run(warp):
        truth = (warp.rows[row] != negated) & warp.active
        made = np.zeros(32, np.uint64)
        for lanes, _ in _groups(warp, warp.rows[member]):
            here = truth[lanes]
            warp.exchanged(lanes)
            made[lanes] = {"all": here.all, "any": here.any, "uni": lambda h=here: h.all() or not h.any(),
                           "ballot": lambda t=truth & lanes: ballot(t)}[kind]()
        warp.give(to, made)

    return {"run": run, "together": members(member), "exchange": Exchange(kind, member, (row,), negated, (to,))}


def activemask(instruction, names):
    """activemask: who is here."""
    to = names.result(instruction.operands[0], "b32")
    return {"run": lambda warp: warp.give(to, np.full(32, ballot(warp.active)))}


def match(instruction, names):
    """match.sync: any, all."""
    kind, *_, type = [m for m in instruction.modifiers if m != "sync"]
    target, value, mask = instruction.operands
    pair = target if isinstance(target, syntax.Pair) else syntax.Pair(target, syntax.SINK)
    source = names.source(value, type)
    row, read = source.row, reader(source)
    member = names.source(mask, "u32").row
    to, holds = names.result(pair.first, "b32"), names.result(pair.second, "pred")

    def run(warp):
        values, made, same = read(warp.rows[row]), np.zeros(32, np.uint64), np.zeros(32, np.uint64)
        for lanes, _ in _groups(warp, warp.rows[member]):
            warp.exchanged(lanes)
            for one in np.unique(values[lanes]):
                equal = lanes & (values == one)
                if kind == "any" or (equal == lanes).all():
                    made[equal], same[equal] = ballot(equal), 1
        warp.give(to, made)
        warp.give(holds, same)

    return {"run": run, "together": members(member)}


def shuffle(instruction, names):
    """shfl.sync: up, down, bfly, idx (PTX ISA: shfl.sync; lanes of a segment as c says). ModernGPU writes shfl.up.sync."""
    kind, *type = [m for m in instruction.modifiers if m != "sync"]
    if kind not in ("up", "down", "bfly", "idx") or type != ["b32"]:
        raise MachineError("it is shfl.sync.up, down, bfly or idx, of .b32")
    target, value, b, c, *mask = instruction.operands
    pair = target if isinstance(target, syntax.Pair) else syntax.Pair(target, syntax.SINK)
    rows = [names.source(operand, "u32").row for operand in (value, b, c)]
    member = names.source(mask[0], "u32").row if mask else names.lowering.constant(ALL)
    to, valid = names.result(pair.first, "b32"), names.result(pair.second, "pred")

    def run(warp):
        held, b, c = (warp.rows[row].astype(np.int64) for row in rows)
        lane, clamp, segment = _LANE, c & 31, c >> 8 & 31
        least, b = lane & segment, b & 31
        most = least | (clamp & ~segment)
        source, inside = {
            "up": lambda: (lane - b, lane - b >= most),
            "down": lambda: (lane + b, lane + b <= most),
            "bfly": lambda: (lane ^ b, (lane ^ b) <= most),
            "idx": lambda: (least | (b & ~segment), (least | (b & ~segment)) <= most)}[kind]()
        source = np.where(inside, source, lane)
        given = warp.from_sources(held, source)
        for lanes, _ in _groups(warp, warp.rows[member]):
            warp.exchanged(lanes)
        warp.give(to, given.astype(np.uint64))
        warp.give(valid, inside)

    return {"run": run, "together": members(member), "exchange": Exchange(kind, member, tuple(rows), False, (to, valid))}


def redux(instruction, names):
    """redux.sync: a reduction over the lanes of a membermask."""
    operation, *rest, type = [m for m in instruction.modifiers if m != "sync"]
    target, value, mask = instruction.operands
    source = names.source(value, type)
    row, read = source.row, reader(source)
    member = names.source(mask, "u32").row
    to = names.result(target, type)
    reduce = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
              "xor": np.bitwise_xor}[operation].reduce
    if rest:
        raise MachineError(f"the machine has no .{'.'.join(rest)} here")

    def run(warp):
        values = read(warp.rows[row])
        made = np.zeros(32, values.dtype)
        for lanes, _ in _groups(warp, warp.rows[member]):
            warp.exchanged(lanes)
            made[lanes] = reduce(values[lanes])
        warp.give(to, made)

    return {"run": run, "together": members(member)}


def elect(instruction, names):
    """elect.sync: the lowest lane of the membermask is the leader."""
    pair, mask = instruction.operands
    member = names.source(mask, "u32").row
    to, leads = names.result(pair.first, "b32"), names.result(pair.second, "pred")

    def run(warp):
        leader, made = np.zeros(32, np.uint64), np.zeros(32, np.uint64)
        for lanes, _ in _groups(warp, warp.rows[member]):
            first = int(np.flatnonzero(lanes)[0])
            leader[lanes], made[first] = first, 1
        warp.give(to, leader)
        warp.give(leads, made)

    return {"run": run, "together": members(member)}


WARPS = {"bar": barrier, "barrier": barrier, "vote": vote, "activemask": activemask, "match": match, "shfl": shuffle,
         "redux": redux, "elect": elect}
