"""Loads of 16 bits whose values stay halves of registers: those ptxas may join.

Seen in the SASS of ptxas 13.0 and 13.5: a load puts a number of 16 bits into a register of its own, extended by zeros or by
its sign, where an instruction wants it like that, as integer arithmetic does; such a load stays alone. Arithmetic of f16 and
bf16, stores, packing and the other extension take a half of a register. A copy, and what selp chooses, is wanted as its
sources are.
"""

from simlayout.machine.ptx import syntax

_SIGNED, _UNSIGNED, _ANY, _NONE = ("s16",), ("u16", "b16"), ("s16", "u16", "b16"), ()
_EITHER = {"add", "sub", "and", "or", "xor", "not", "shl"}
"""Opcodes of integers that take a number with either extension."""
_CHOSEN = {"mov": 2, "selp": 3}
"""How many operands of these are the register that they write and those that it may be a copy of."""


def kept_halves(body: tuple) -> set[int]:
    """The ids of the loads in a function's statements whose 16 bits nothing wants extended as they are."""
    instructions = [s for s in body if isinstance(s, syntax.Instruction)]
    loads = [(s, s.operands[0].name) for s in instructions if s.opcode == "ld" and {*s.modifiers[-1:]} & {*_ANY}
             and isinstance(s.operands[0], syntax.Register) and s.operands[0].type == "b16"]
    if not loads:
        return set()
    wanted: dict[str, set[str]] = {}                     # register -> as which types it is wanted extended
    copies = []
    for s in instructions:
        registers = [one.name for one in s.operands if isinstance(one, syntax.Register)]
        if s.opcode in _CHOSEN and isinstance(s.operands[0], syntax.Register):
            chosen = s.operands[1:_CHOSEN[s.opcode]]
            copies += [(registers[0], one.name) for one in chosen if isinstance(one, syntax.Register)]
        for name in registers[1:]:
            wanted.setdefault(name, set()).update(_extended(s))
    changed = True
    while changed:
        changed = False
        for to, of in copies:
            more = wanted.get(to, set()) - wanted.setdefault(of, set())
            wanted[of] |= more
            changed |= bool(more)
    return {id(s) for s, name in loads if s.modifiers[-1] not in wanted.get(name, ())}


def _extended(instruction):
    """As which types an instruction wants its sources in registers of their own."""
    type = next(iter(instruction.modifiers[-1:]), "")
    if instruction.opcode == "cvt":
        if type == "bf16":
            return _ANY
        if instruction.modifiers[-2][0] == "f":
            return _NONE
    elif instruction.opcode in _EITHER and type in _ANY:
        return _ANY
    elif instruction.opcode in ("st", *_CHOSEN):
        return _NONE
    return _SIGNED if type in _SIGNED else _UNSIGNED if type in _UNSIGNED else _NONE
