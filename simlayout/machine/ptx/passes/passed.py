"""Which parameters of a kernel the address of an access may be computed from: what one outside all arrays was meant for."""

from collections import defaultdict
from collections.abc import Mapping

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.arrays import NUMBERS
from simlayout.machine.ptx.passes.def_use import defined, instructions, registers_in, registers_read


def passed_to(function: syntax.Function, parameters: Mapping[str, int], line: int) -> set[int]:
    """Where those parameters lie among all whose values may reach, by registers alone, the address of the access on a line
    of PTX. parameters: {name: where it lies}.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0\\n.target sm_90\\n.address_size 64\\n.entry f(.param .u64 a, .param .u64 n) { .reg .b64 %r<9>;"
    >>> text += "ld.param.u64 %r1, [a]; ld.param.u64 %r2, [n]; ld.u64 %r3, [%r2]; add.u64 %r4, %r1, %r3;"
    >>> passed_to(parse(text + "\\nst.u64 [%r4], 1; }").functions["f"], {"a": 0, "n": 8}, 5)
    {0}
    """
    body = instructions(function.body)
    made: dict[str | int, set[str | int]] = defaultdict(set)     # a register -> registers and parameters that it is made of
    others = set()                                       # registers that may hold what is loaded, which may be a pointer too
    for one in body:
        source = one.operands[-1] if one.opcode == "ld" else None
        if isinstance(source, syntax.Address) and isinstance(source.base, syntax.Symbol) and source.base.name in parameters:
            of: set[str | int] = {parameters[source.base.name] + source.offset}
        elif one.opcode in NUMBERS:
            others.update(defined(one))
            continue
        else:
            of = {*registers_read(one)}
        for name in defined(one):
            made[name] |= of
    seen: set[str | int] = set()
    places = [p for one in body if one.line == line for p in one.operands if isinstance(p, syntax.Address)]
    left: set[str | int] = {*registers_in(places)}
    while left:
        seen |= left
        left = set().union(*(made[one] for one in left - others)) - seen
    return {one for one in seen if isinstance(one, int)}
