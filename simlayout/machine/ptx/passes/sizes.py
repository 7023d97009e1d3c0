"""As how many instructions ptxas counts the statements of a loop, and how many rounds it writes of one so large.

Seen in the SASS of ptxas 13.0 for sm_90a. A statement: by how many FADD fit beside it into a loop of which ptxas writes some
rounds, 72 without it; 63 of them are compared by a test. A number of rounds: of loops of 1 to 190 FADD, and of loads with
FFMA.
"""

from collections.abc import Iterable, Set

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.opcodes.lanes import FORMS
from simlayout.machine.ptx.passes.counted import End, only_goes

LARGEST = 72
"""How large a loop may be that is repeated with several rounds in one."""
_SEVERAL, _EVERY = 350, 384
"""How large several rounds may be together, and all of them at any rate."""
_CONTROL = 3
"""What counts a round and goes back: all rounds together save it."""

_NOTHING = {"cvta", "neg", "mov"}
"""Opcodes that are made part of what reads their result."""
_OF_OPCODE = {"bfe": 2, "bfi": 2, "clz": 2, "testp": 2, "mul24": 3, "vadd": 8}
_OF_F32 = {"ex2": 6, "lg2": 6, "rsqrt": 6, "sqrt": 6, "rcp": 7, "div": 7}
"""Opcodes that count for more than one; of f32 where they have no .ftz."""
_QUOTIENT = {"div": 21, "rem": 19}
_ATOMIC = 10
"""Atomics, but for exch and cas, and for a float that is added in global memory."""
_KEPT = {"atom", "shfl", "vote", "match", "redux", "activemask", "elect", "call"}
"""Opcodes of what does more than to give a result."""
_SYMBOL = 4
"""What an address counts for that is the one of a variable, beside what accesses it."""


def size_of(statement: syntax.Instruction) -> int:
    """As how many instructions ptxas counts a statement.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry k() { .reg .b32 %a, %x; .reg .f32 %f; mov.b32 %a, 0; "
    >>> text += "ld.shared.b32 %x, [%a]; ld.shared.b32 %x, [%a+4]; div.u32 %x, %x, %a; ex2.approx.f32 %f, %f; ret; }"
    >>> [size_of(one) for one in parse(text).functions["k"].body]
    [0, 1, 2, 21, 6, 1]
    """
    guarded = statement.guard is not None and statement.opcode != "bra"
    return guarded + _alone(statement) + sum(map(_address, statement.operands))


def size_in_words(statement: syntax.Instruction) -> int:
    """How many instructions a statement becomes, of which each computes 32 bits.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry k() { .reg .b32 %a; .reg .b64 %d; add.u32 %a, %a, 1; "
    >>> text += "cvta.to.global.u64 %d, %d; add.s64 %d, %d, %d; mul.lo.s64 %d, %d, %d; st.global.u64 [%d+8], %d; ret; }"
    >>> [size_in_words(one) for one in parse(text).functions["k"].body]
    [1, 0, 2, 4, 1, 1]
    """
    if statement.name.startswith("ld.param"):
        return 0                                         # a constant, which others have for an operand
    twice = statement.opcode in FORMS and statement.modifiers[-1] in ("b64", "s64", "u64") and statement.opcode != "cvt"
    if statement.opcode in ("mul", "mad") and twice:
        return 4
    return 2 if twice and _alone(statement) == 1 else int(_alone(statement))


def size_in(every: Iterable[syntax.Instruction], end: End, live: Set[str]) -> int:
    """The size of a loop, without what counts its rounds and goes back, and what nothing reads. live: the registers that
    something reads behind it."""
    control = end.branch, end.counter.test, end.counter.step
    left = [one for one in every if not (only_goes((one,)) or any(one is other for other in control))]
    size, read = 0, {*live}
    while found := [one for one in left if one.opcode in _KEPT or not {*one.writes} or not read.isdisjoint(one.writes)]:
        left = [one for one in left if not any(one is other for other in found)]
        read.update(name for one in found for name in one.reads)
        size += sum(map(size_of, found))
    return size


def _alone(statement):
    opcode, modifiers = statement.opcode, statement.modifiers
    if opcode in _NOTHING:
        kinds = [*map(type, statement.operands)]
        return 2 if kinds[:1] == [syntax.Vector] else syntax.Vector in kinds or syntax.Special in kinds
    last = modifiers[-1] if modifiers else ""
    if opcode in _QUOTIENT and last[0] != "f":
        return _QUOTIENT[opcode]
    if opcode in ("atom", "red"):
        plain = {"exch", "cas"} & {*modifiers} or "global" in statement.spaces and "add" in modifiers and last[0] == "f"
        return 1 if plain else _ATOMIC
    if opcode == "ld" and last[1:] in ("8", "16"):
        return 2
    if opcode in _OF_F32 and last == "f32" and "ftz" not in modifiers:
        return _OF_F32[opcode] + 5 * ("full" in modifiers)
    if last in ("f16x2", "bf16x2") or opcode in ("shl", "shr") and last[1:] == "64" and not isinstance(
            statement.operands[-1], syntax.Integer):
        return 2
    if opcode == "mad" and "wide" in modifiers:
        return 4
    return _OF_OPCODE.get(opcode, 1)


def _address(operand):
    if not isinstance(operand, syntax.Address):
        return 0
    return _SYMBOL if isinstance(operand.base, syntax.Symbol) else operand.offset != 0


def most_rounds(size: int, alive: int) -> int:
    """Of how many rounds, at most, ptxas writes all. alive: registers that have a value where a round begins, beside the
    counter. Of 89 loops of FADD the number was within 4 percent of this, or one round; where many are alive (the second
    case) it depends on the size alone.

    >>> most_rounds(8, 4), most_rounds(8, 10), most_rounds(400, 4)
    (255, 173, 0)
    """
    saved = 300 // (size + _CONTROL)                     # in percent
    spare = max(0, alive - 2)
    each = 816 - 29 * spare + 5 * max(0, size - 16) if 2 * spare <= size else 475 + 5 * size
    return max(saved * each // 10, _EVERY) // max(size, 1)


def several_rounds(size: int, number: int) -> tuple[int, int] | None:
    """(rounds ahead, rounds in one behind them) in which ptxas writes a loop of a number of rounds that are too many to
    write them all: the most that leave, with those ahead, no more than _SEVERAL. None for what is too large.

    >>> several_rounds(16, 1000), several_rounds(32, 101), several_rounds(64, 102), several_rounds(73, 100)
    ((0, 20), (3, 7), (0, 3), None)
    """
    most = _SEVERAL // max(size, 1)
    if size > LARGEST:
        return None
    return next(((number % many, many) for many in range(most, 1, -1) if many + number % many <= most), None)
