"""What ptxas takes for the same in all lanes of a warp that execute something together.

Seen in the SASS of ptxas 13.0 and 13.5, by what it makes of additions to such an address. Lanes differ in %tid, %laneid and
the masks of lanes, in what atomics return, in matrices, and in what is computed of such. What is loaded from one address is
alike, whatever memory that is and however strong the load, and so is what votes, reductions of a warp and a shuffle from one
lane return. What a register holds that may have been written in several places differs, too, if one of these lies between a
branch that is not alike in all lanes and where its ways meet, and what reads it does not; so does what is read of a loop
that some lanes leave earlier, and in it what changes from round to round. Of 800 random programs with branches, loops, loads
and shuffles this says what ptxas 13.0 does of 769.
"""

from functools import cached_property

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.flow import Flow
from simlayout.machine.ptx.passes.statements import COMPUTES, registers_in, special

_COMPUTES = COMPUTES | {"mapa", "ld", "shfl"}
"""Opcodes whose results are alike if their operands are."""
_AGREED = {"vote", "redux", "activemask", "match"}
"""Those by which lanes agree on one result, but for match.any."""


class Alike:
    """Of one syntax.Function: called with an instruction and an operand of it, whether ptxas takes that for the same in all
    lanes.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0\\n.target sm_90\\n.address_size 64\\n.entry f() { .reg .b32 %r<9>; .reg .pred %p<3>;"
    >>> text += ".shared .b32 s; mov.u32 %r1, %tid.x; ld.shared.u32 %r2, [s]; setp.eq.u32 %p1, %r1, 9;"
    >>> text += "setp.eq.u32 %p2, %r2, 9; mov.u32 %r3, 0; mov.u32 %r4, 0; @%p1 bra A; mov.u32 %r3, 1;"
    >>> text += "A: @%p2 bra B; mov.u32 %r4, 1; B: st.v4.b32 [s], {%r1, %r2, %r3, %r4}; ret; }"
    >>> function = parse(text).functions["f"]
    >>> [Alike(function)(function.body[-2], one) for one in function.body[-2].operands[1].operands]
    [False, True, False, True]
    """

    def __init__(self, function):
        self._function = function

    def __call__(self, instruction: syntax.Instruction, operand: syntax.Operand) -> bool:
        return not any(self._differs(instruction, name, *self._found) for name in registers_in((operand,)))

    @cached_property
    def _flow(self):
        return Flow.of(self._function)

    @cached_property
    def _body(self):
        """[(block, instruction)] of all that can be reached."""
        return [(block, one) for block in self._flow.order for one in self._flow.blocks[block]]

    @cached_property
    def _written(self):
        """{id of an instruction: (its block, {register that it reads: where that may be written, as (block, id)})}."""
        once: dict[str, frozenset] = {}
        several: set[str] = set()
        for block, one in self._body:
            for name in one.writes:
                several |= {name} & once.keys()
                once[name] = frozenset({(block, id(one))})
        behind: dict[int, dict] = {}
        found: dict[int, tuple] = {}
        changed = True
        while changed:
            changed = False
            for block in self._flow.order:
                now: dict = {}
                for name, where in (pair for before in self._flow.before[block] for pair in behind.get(before, {}).items()):
                    now[name] = now.get(name, frozenset()) | where
                for one in self._flow.blocks[block]:
                    found[id(one)] = block, {name: (now if name in several else once).get(name, frozenset())
                                             for name in one.reads}
                    for name in several.intersection(one.writes):
                        kept = frozenset() if one.guard is None else now.get(name, frozenset())
                        now[name] = kept | {(block, id(one))}
                read = set().union(*(self._flow.live[to] for to in self._flow.after[block]))
                now = {name: now[name] for name in now.keys() & read}
                changed |= now != behind.get(block)
                behind[block] = now
        return found

    @cached_property
    def _found(self):
        """(ids of the instructions whose results differ, {block: regions around it, as of Flow, and whether the branch of
        each is inside})."""
        found = {id(one) for _, one in self._body if self._tells_lanes(one)}
        around: dict[int, list] = {}

        def differs(instruction, names):
            return any(self._differs(instruction, name, found, around) for name in names)

        def agreed(branch):
            return not differs(branch, registers_in((branch.guard,)))

        many = -1
        while many != len(found):
            many, regions = len(found), [*self._flow.regions(agreed)]
            around.clear()
            for block, region in regions:
                for inside in region:
                    around.setdefault(inside, []).append((region, block in region))
            found.update([id(one) for _, one in self._body if id(one) not in found and differs(one, _matters(one))])
        return found, around

    def _differs(self, instruction, name, found, around):
        """Whether what an instruction reads in a register differs, as far as that is known: as of `_found`."""
        block, written = self._written.get(id(instruction), (None, {}))
        where = written.get(name, ())
        if any(which in found for _, which in where):
            return True
        several = len(where) > 1
        return any(several and loop or block not in region and (several or loop)
                   for at, _ in where for region, loop in around.get(at, ()))

    def _tells_lanes(self, one):
        """Whether the results of an instruction may differ whatever its operands are."""
        if one.opcode == "mov":
            return any(isinstance(source, syntax.Special) and not special(source.name).alike for source in one.operands[1:])
        if one.opcode == "ld" and "param" in one.spaces:
            parameters = {parameter.name for parameter in self._function.parameters} if self._function.entry else ()
            return getattr(one.operands[1].base, "name", "") not in parameters
        return one.opcode not in _COMPUTES | _AGREED


def _matters(one):
    """Names of the registers in which lanes have to agree if they are to get the same of an instruction."""
    from_one = one.opcode == "shfl" and "idx" in one.modifiers and getattr(one.operands[3], "value", None) == 31
    if one.opcode in _AGREED and "match.any" not in one.name:
        return registers_in((one.guard,))
    return registers_in((one.guard, one.operands[2])) if from_one else one.reads
