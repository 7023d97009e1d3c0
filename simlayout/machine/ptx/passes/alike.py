"""What ptxas takes for the same in all lanes of a warp that execute something together.

Seen in the SASS of ptxas 13.0 and 13.5, by what it makes of additions to such an address. Lanes differ in %tid, %laneid and
the masks of lanes, in what atomics return, in matrices, and in what is computed of such. What is loaded from
one address is alike, whatever memory that is and however strong the load, and so is what votes, reductions of a warp and a
shuffle from one lane return. A register that is written in several places differs, too, if one of these is executed by only
some lanes: between a branch that is not alike in all and where its ways meet, a loop that some lanes leave earlier included.
"""

from collections import Counter, defaultdict
from functools import cached_property

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.opcodes.lanes import FORMS
from simlayout.machine.ptx.passes.def_use import defined, instructions, may_define, registers_in, registers_read
from simlayout.machine.ptx.passes.flow import Flow

_COMPUTES = {*FORMS, "mov", "cvta", "mapa", "ld", "shfl", "selp", "setp"}
"""Opcodes whose results are alike if their operands are."""
_AGREED = {"vote", "redux", "activemask", "match"}
"""Those by which lanes agree on one result, but for match.any."""
_LANES = "%tid", "%laneid", "%lanemask"
"""How the names of special registers begin that tell lanes apart."""


class Alike:
    """Of one syntax.Function: called with an operand, whether ptxas takes it for the same in all lanes.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0\\n.target sm_90\\n.address_size 64\\n.entry f() { .reg .b32 %r<9>; .reg .pred %p<3>;"
    >>> text += ".shared .b32 s; mov.u32 %r1, %tid.x; ld.shared.u32 %r2, [s]; setp.eq.u32 %p1, %r1, 9;"
    >>> text += "setp.eq.u32 %p2, %r2, 9; mov.u32 %r3, 0; mov.u32 %r4, 0; @%p1 bra A; mov.u32 %r3, 1;"
    >>> text += "A: @%p2 bra B; mov.u32 %r4, 1; B: ret; }"
    >>> function = parse(text).functions["f"]
    >>> [Alike(function)(syntax.Register(f"%r{i}", "b32")) for i in range(1, 5)]
    [False, True, False, True]
    """

    def __init__(self, function):
        self._function, self._body = function, instructions(function.body)

    def __call__(self, operand: syntax.Operand) -> bool:
        names = {*registers_in((operand,))}
        return names.isdisjoint(self._of_data) and (not names or names.isdisjoint(self._differ))

    @cached_property
    def _of_data(self):
        """Names of the registers that differ whatever lanes execute."""
        return self._taken_on({name for one in self._body if self._tells_lanes(one) for name in may_define(one)})

    @cached_property
    def _differ(self):
        """Names of all registers that may differ."""
        found, flow = set(self._of_data), Flow.of(self._function)

        def agreed(guard):
            return found.isdisjoint(registers_in((guard,)))

        while True:
            new = {name for block in flow.parted(agreed) for one in flow.blocks[block] for name in defined(one)
                   if self._times[name] > 1} - found
            if not new:
                return found
            found |= self._taken_on(new)

    @cached_property
    def _times(self):
        """How many instructions write each register."""
        return Counter(name for one in self._body for name in defined(one))

    @cached_property
    def _readers(self):
        """{register: instructions whose results differ if it does}."""
        found = defaultdict(list)
        for one in self._body:
            for name in _matters(one):
                found[name].append(one)
        return found

    def _taken_on(self, names):
        """These registers, and those that are computed of them."""
        found, todo = set(names), [*names]
        while todo:
            new = {name for reader in self._readers[todo.pop()] for name in defined(reader)} - found
            found |= new
            todo += new
        return found

    def _tells_lanes(self, one):
        """Whether the results of an instruction may differ whatever its operands are."""
        if one.opcode == "mov":
            return any(isinstance(source, syntax.Special) and source.name.startswith(_LANES) for source in one.operands[1:])
        if one.opcode == "ld" and "param" in one.modifiers:
            parameters = {parameter.name for parameter in self._function.parameters} if self._function.entry else ()
            return getattr(one.operands[1].base, "name", "") not in parameters
        return one.opcode not in _COMPUTES | _AGREED


def _matters(one):
    """Names of the registers in which lanes have to agree if they are to get the same of an instruction."""
    from_one = one.opcode == "shfl" and "idx" in one.modifiers and getattr(one.operands[3], "value", None) == 31
    if one.opcode in _AGREED and "match.any" not in one.name:
        return registers_in((one.guard,))
    return registers_in((one.guard, one.operands[2])) if from_one else registers_read(one)
