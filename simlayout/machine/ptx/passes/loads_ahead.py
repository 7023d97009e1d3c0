"""Which loads of shared memory ptxas may join.

One with another that a thread surely has done when it comes to it, with nothing in between that may change shared memory, or
order it: where the first one is, across branches and into loops.

    x = s[t]; if (x > limit) y = s[t + 1];                 // one load of 8 bytes, ahead of the branch

Seen in the SASS of ptxas 13.0: the load behind may be in a branch, in both arms of one, where their ways meet again, in a
loop, or behind `if (...) return`; how much is in between does not matter. But a loop that comes between the two, whatever it
does, keeps them apart, unless nothing ahead of the first may change shared memory, or order it. So does a loop's head that
has two ways, where the loop leaves the address as it is, if one is in it or ahead and the other one behind it in the loop
(`Flow.beside`). Numbers of 16 bits are joined in a basic block alone.

Beyond its basic block only that load of 16 bytes is joined with others which is the first access of these in the text since
memory may have changed: behind `if (c) x = s[t]; y = s[t + 1];` a load of s[t + 2] in a branch stays alone, and so it does
behind a store to s[t]. Loads of one place come together at that first one, also if they are joined with nothing there.

Of 16 bits those whose values stay halves of registers. A load puts a number of 16 bits into a register of its own, extended
by zeros or by its sign, where an instruction wants it like that, as integer arithmetic does; such a load stays alone.
Arithmetic of f16 and bf16, stores, packing and the other extension take a half of a register. A copy, and what selp chooses,
is wanted as its sources are.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.flow import Flow
from simlayout.machine.ptx.passes.statements import instructions

_SIGNED, _UNSIGNED, _ANY, _NONE = ("s16",), ("u16", "b16"), ("s16", "u16", "b16"), ()
_EITHER = {"add", "sub", "and", "or", "xor", "not", "shl"}
"""Opcodes of integers that take a number with either extension."""
_CHOSEN = {"mov": 2, "selp": 3}
"""How many operands of these are the register that they write and those that it may be a copy of."""

_Kind = tuple[Hashable, str]


class Ahead:
    """Which loads are ahead of each. kinds: {id of a load: (what loads have in common that may be joined, the register that
    their addresses hang on)}, in the order of the flow; apart: whether a statement keeps loads apart.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry k() { .reg .b32 %r<4>; .reg .pred %p; "
    >>> text += "ld.shared.b32 %r1, [%r0]; @%p bra on; ld.shared.b32 %r2, [%r0+4]; on: ld.shared.b32 %r3, [%r0+8]; ret; }"
    >>> function = parse(text).functions["k"]
    >>> loads = [statement for statement in function.body if statement.opcode == "ld"]
    >>> ahead = Ahead(Flow.of(function), {id(load): ("all", "%r0") for load in loads}, lambda statement: False)
    >>> [[ahead(id(one), id(load)) for one in loads] for load in loads]
    [[False, False, False], [True, False, False], [True, False, False]]
    """

    def __init__(self, flow: Flow, kinds: Mapping[int, _Kind], apart: Callable[[syntax.Instruction], bool]):
        self._loads = [*kinds]
        self._bit = {one: 1 << number for number, one in enumerate(kinds)}
        self._ahead: dict[int, int] = {}                 # load -> bits of those ahead of it
        of_kind: dict[_Kind, int] = defaultdict(int)     # and the bits of those of a kind, and that hang on a register
        of_register: dict[str, int] = defaultdict(int)
        for one, kind in kinds.items():
            of_kind[kind] |= self._bit[one]
            of_register[kind[1]] |= self._bit[one]
        events = {block: [*_events(part, kinds, of_register, apart)] for block, part in flow.blocks.items()}
        bits = {block: sum(self._bit[load] for load, _, _ in events[block] if load) for block in events}
        first = sum(self._bit[one] for one in flow.first(apart) & kinds.keys())

        def through(block: int, done: int) -> int:
            done &= first if block in flow.behind_loops else -1
            for load, keeps_apart, changed in events[block]:
                if load:
                    beside = flow.beside(block, kinds[load][1])
                    seen = -1 if beside is None else first | sum(bits[one] for one in beside)
                    self._ahead[load] = done & of_kind[kinds[load]] & seen
                    done |= self._bit[load]
                for register in changed:
                    done &= ~of_register[register]
                done = 0 if keeps_apart else done
            return done

        flow.settled(through, 0)

    def __call__(self, one: int, other: int) -> bool:
        """Whether a load is ahead of another one."""
        return bool(self._ahead.get(other, 0) & self._bit.get(one, 0))

    def first(self, load: int) -> int:
        """The first of the loads ahead of one, that itself where there is none."""
        ahead = self._ahead.get(load, 0)
        return self._loads[(ahead & -ahead).bit_length() - 1] if ahead else load


def _events(part, kinds, registers, apart):
    """(the id of a load or 0, whether it keeps loads apart, registers that addresses hang on and that it writes) of what
    matters in a basic block."""
    for statement in part:
        load = id(statement) if id(statement) in kinds else 0
        event = load, apart(statement), registers.keys() & {*statement.writes}
        if any(event):
            yield event


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
    types = set().union(*(state.get(name, ()) for name in instruction.writes)) if chosen else set()
    for name in instruction.writes if instruction.guard is None else ():
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
