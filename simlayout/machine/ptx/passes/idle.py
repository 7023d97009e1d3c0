"""Loads of global memory whose values only stores under one predicate need: in lanes that execute none of these, whatever
such a load reads makes no difference. Triton lets all warps load what one of them stores, so that an update in place has
races that change nothing."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.statements import COMPUTES, registers_in, ways_back

_COMPUTES = COMPUTES - {"cvta", "setp"}
_EARLY = {"setp", "and", "or", "xor", "not", "shl", "shr", "add", "sub", "mov"}
_FLOATS = {"f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64"}
_GOES = {"bra", "brx", "call", "ret", "exit", "trap"}


@dataclass(frozen=True)
class Idle:
    """loads: {id of such a load: predicates, of which each holds where one of the stores is executed}. early: {id of a load:
    what makes such predicates behind it, of numbers that are there already}, to come ahead of it."""

    loads: dict[int, tuple[syntax.Register | syntax.Negated, ...]] = field(default_factory=dict)
    early: dict[int, tuple[syntax.Instruction, ...]] = field(default_factory=dict)

    def ahead(self, body: Sequence[syntax.Statement]) -> list[syntax.Statement]:
        """The statements of the function with what is `early` where it comes."""
        moved: dict[int, None] = {}
        placed = []
        for one in body:
            for other in (*self.early.get(id(one), ()), one):
                if id(other) not in moved:
                    placed.append(other)
                if other is not one:
                    moved[id(other)] = None
        return placed


def idle(function: syntax.Function) -> Idle:
    """Those of a function. A predicate is written once, ahead of the load and of all loops that the load is in, or behind it
    in its basic block. The guards of the stores are one of them, or its conjunctions with others.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry f() { .reg .b32 %r<9>; .reg .b64 %d; .reg .pred %p; "
    >>> text += "setp.eq.u32 %p, %r3, 0; ld.global.b32 %r1, [%d]; add.u32 %r2, %r1, 1; @%p st.global.b32 [%d], %r2; ret; }"
    >>> function = parse(text).functions["f"]
    >>> [one.name for one in idle(function).loads[id(function.body[1])]]
    ['%p']
    """
    body = function.body or ()
    reads: defaultdict[str, list[int]] = defaultdict(list)
    writes: defaultdict[str, list[int]] = defaultdict(list)
    for at, one in enumerate(body):
        for name in one.reads:
            reads[name].append(at)
        for name in one.may_write:
            writes[name].append(at)
    loops, found = ways_back(body), Idle()
    if any(one.opcode == "brx" for one in body):         # it may lead anywhere
        loops = [(0, len(body))]
    for at, one in enumerate(body):
        if one.opcode == "ld" and "global" in one.spaces:
            ahead = min([at, *(begin for begin, end in loops if begin < at < end)])
            parts = _common([_parts(guard, body, writes) for guard in _guards(one, body, reads)])
            made = {part: _early(_name(part), at, ahead, body, writes) for part in parts}
            known = tuple(part for part in parts if made[part] is not None)
            if known:
                found.loads[id(one)] = known
                found.early[id(one)] = tuple(body[at] for at in sorted({*chain(*filter(None, made.values()))}))
    return found


def _early(name, load, ahead, body, writes):
    """Where what makes a register stands behind a load, all of which could stand ahead of it: nowhere if all is there
    already; None if that is not known. ahead: where the loops begin that the load is in."""
    if len(writes[name]) != 1:
        return None
    at, = writes[name]
    if at < ahead:
        return ()
    one = body[at]
    plain = at > load == ahead and one.guard is None and one.opcode in _EARLY and _FLOATS.isdisjoint(one.modifiers)
    if not plain or any(isinstance(between, syntax.Label) or between.opcode in _GOES for between in body[load:at]):
        return None
    needed = [_early(of, load, ahead, body, writes) for of in one.reads]
    return None if None in needed else (at, *chain(*needed))


def _name(guard):
    return next(iter(registers_in((guard,))))


def _parts(guard, body, writes):
    """Predicates that all hold where a guard does: what it is the conjunction of, wherever it is made."""
    made = [body[at] for at in writes[_name(guard)]] if isinstance(guard, syntax.Register) else []
    if not made or any(one.opcode != "and" or one.guard is not None for one in made):
        return (guard,)
    return _common([[part for source in one.operands[1:] for part in _parts(source, body, writes)] for one in made])


def _common(several):
    """What is in each of several sequences, in the order of the first."""
    first, *others = several or [()]
    return tuple(part for part in first if all(part in each for each in others))


def _guards(load, body, reads):
    """The guards of all stores that the value of a load reaches; none if it reaches something else."""
    guards, seen, todo = set(), set(), list(load.writes)
    while todo:
        name = todo.pop()
        if name in seen:
            continue
        seen.add(name)
        for at in reads[name]:
            one = body[at]
            needs = {*registers_in((one.guard, *one.operands[:1]))} if one.opcode == "st" else {*registers_in((one.guard,))}
            if name in needs:
                return ()
            if one.opcode == "st" and one.guard is not None:
                guards.add(one.guard)
            elif one.opcode in _COMPUTES:
                todo += one.writes
            else:
                return ()
    return guards
