"""Stores of shared memory whose value a shuffle has made of what a load of it has read: they come behind that load."""

from collections import defaultdict

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.statements import instructions, registers_in


def answers(function: syntax.Function) -> dict[int, set[int]]:
    """{id of such a store: ids of the loads}, of a function.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry f() { .reg .b32 %r<9>; ld.shared.b32 %r1, [0]; "
    >>> text += "shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1; add.u32 %r3, %r2, 1; st.shared.b32 [0], %r3; "
    >>> text += "st.shared.b32 [4], %r1; ret; }"
    >>> function = parse(text).functions["f"]
    >>> load, _, _, store, *_ = function.body
    >>> answers(function) == {id(store): {id(load)}}
    True
    """
    body = instructions(function.body)
    loads = [one for one in body if one.opcode == "ld" and one.names_shared]
    if not loads or not any(one.opcode == "shfl" for one in body):
        return {}
    bit = {id(one): 1 << i for i, one in enumerate(loads)}
    read: defaultdict[str, int] = defaultdict(int)       # register -> the loads that it may be made of
    made: dict[str, int] = {}                            # the same by way of a shuffle, whichever statement has written it
    before = None
    while before != made:
        before, made = made, {}
        for one in body:
            sources = [] if one.opcode == "ld" else list(one.reads)
            plain, by_shuffle = bit.get(id(one), 0), 0
            for name in sources:
                plain, by_shuffle = plain | read[name], by_shuffle | before.get(name, 0)
            if one.opcode == "shfl":
                by_shuffle |= plain
            for name in one.writes:
                read[name] |= plain
                made[name] = made.get(name, -1) & by_shuffle
    stores = [(one, list(registers_in(one.operands[1:]))) for one in body if one.opcode == "st" and one.names_shared]
    found = {id(one): {id(load) for load in loads if any(made.get(name, 0) & bit[id(load)] for name in names)}
             for one, names in stores}
    return {store: of for store, of in found.items() if of}
