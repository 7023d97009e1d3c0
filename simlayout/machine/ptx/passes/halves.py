"""Loads of 16 bits whose values stay halves of registers: those ptxas may join.

Seen in the SASS of ptxas 13.0 and 13.5: a load puts a number of 16 bits into a register of its own, extended by zeros or by
its sign, where an instruction wants it like that, as integer arithmetic does; such a load stays alone. Arithmetic of f16 and
bf16, stores, packing and the other extension take a half of a register. A copy, and what selp chooses, is wanted as its
sources are.
"""

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.def_use import defined, instructions
from simlayout.machine.ptx.passes.flow import Flow

_SIGNED, _UNSIGNED, _ANY, _NONE = ("s16",), ("u16", "b16"), ("s16", "u16", "b16"), ()
_EITHER = {"add", "sub", "and", "or", "xor", "not", "shl"}
"""Opcodes of integers that take a number with either extension."""
_CHOSEN = {"mov": 2, "selp": 3}
"""How many operands of these are the register that they write and those that it may be a copy of."""


def kept_halves(function: syntax.Function) -> set[int]:
    """The ids of the loads in a function with a body whose 16 bits nothing that they come to wants extended as they are."""
    body = instructions(function.body)
    loads = {id(s): s.operands[0].name for s in body if s.opcode == "ld" and {*s.modifiers[-1:]} & {*_ANY}
             and isinstance(s.operands[0], syntax.Register) and s.operands[0].type == "b16"}
    if not loads:
        return set()
    flow, found = Flow.of(function), set[int]()
    wanted: dict[int, dict[str, set[str]]] = {}          # block -> register -> as which types it is wanted from there on
    while True:
        before = dict(wanted)
        for block in reversed(flow.order):
            state: dict[str, set[str]] = {}
            for behind in flow.after[block]:
                for name, types in wanted.get(behind, {}).items():
                    state[name] = state.get(name, set()) | types
            for s in reversed(flow.blocks[block]):
                if id(s) in loads:
                    (found.discard if s.modifiers[-1] in state.get(loads[id(s)], ()) else found.add)(id(s))
                _go_ahead(s, state)
            wanted[block] = state
        if wanted == before:
            return found


def _go_ahead(instruction, state):
    """Changes {register: as which types it is wanted extended} from what it is behind an instruction to what it is ahead of
    it."""
    chosen = instruction.operands[1:_CHOSEN.get(instruction.opcode, 0)]
    types = set().union(*(state.get(name, ()) for name in defined(instruction))) if chosen else set()
    for name in defined(instruction) if instruction.guard is None else ():
        state.pop(name, None)
    types |= {*_extended(instruction)}
    for one in instruction.operands[1:] if types else ():
        if isinstance(one, syntax.Register) and (one in chosen or not chosen):
            state[one.name] = state.get(one.name, set()) | types


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
