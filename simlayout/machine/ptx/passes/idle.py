"""Loads of global memory whose values only stores under one predicate need: in lanes that execute none of these, whatever
such a load reads makes no difference. Triton lets all warps load what one of them stores, so that an update in place has
races that change nothing."""

from collections import defaultdict

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.statements import COMPUTES, registers_in, ways_back

_COMPUTES = COMPUTES - {"cvta", "setp"}


def idle(function: syntax.Function) -> dict[int, tuple[syntax.Register | syntax.Negated, ...]]:
    """{id of such a load: predicates that hold where a store does}, of a function. They are written once, ahead of the load
    and of all loops that the load is in; the guard of the stores is one of them, or their conjunction.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry f() { .reg .b32 %r<9>; .reg .b64 %d; .reg .pred %p; "
    >>> text += "setp.eq.u32 %p, %r3, 0; ld.global.b32 %r1, [%d]; add.u32 %r2, %r1, 1; @%p st.global.b32 [%d], %r2; ret; }"
    >>> function = parse(text).functions["f"]
    >>> [one.name for one in idle(function)[id(function.body[1])]]
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
    loops, found = ways_back(body), {}
    if any(one.opcode == "brx" for one in body):         # it may lead anywhere
        loops = [(0, len(body))]
    for at, one in enumerate(body):
        if one.opcode == "ld" and "global" in one.spaces:
            guard = _guard(one, body, reads)
            ahead = min([at, *(begin for begin, end in loops if begin < at < end)])
            parts = () if guard is None else _parts(guard, body, writes)
            if parts and all(len(made := writes[_name(part)]) == 1 and made[0] < ahead for part in parts):
                found[id(one)] = parts
    return found


def _name(guard):
    return next(iter(registers_in((guard,))))


def _parts(guard, body, writes):
    """The predicates whose conjunction a guard is."""
    made = writes[_name(guard)]
    one = body[made[0]] if len(made) == 1 and isinstance(guard, syntax.Register) else None
    if one is None or one.opcode != "and" or one.guard is not None:
        return (guard,)
    return tuple(part for source in one.operands[1:] for part in _parts(source, body, writes))


def _guard(load, body, reads):
    """The guard of all stores that the value of a load reaches; None if there are several, none, or something else."""
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
                return None
            if one.opcode == "st" and one.guard is not None:
                guards.add(one.guard)
            elif one.opcode in _COMPUTES:
                todo += one.writes
            else:
                return None
    return guards.pop() if len(guards) == 1 else None
