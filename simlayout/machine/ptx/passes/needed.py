"""Which halves of its registers a function needs: what ptxas leaves out is what nothing reads that does something.

A register of 64 bits is two of 32 in machine code, and of two the one that nothing needs is not computed, nor loaded:

    int i = (int)keys[t];                                  // long long keys[]: a load of 4 bytes

Seen in the SASS of ptxas 13.0.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.opcodes.lanes import FORMS
from simlayout.machine.ptx.passes.accesses import LOADS, STAY
from simlayout.machine.ptx.passes.def_use import may_define, registers_in, registers_read

LOW, HIGH, BOTH = 1, 2, 3
"""Halves of a register of 64 bits; of all others any of them means the whole."""

_EXCHANGES = {"mov", "cvta", "mapa", "getctarank", "isspacep", "shfl", "vote", "match", "redux", "activemask"}
_MATRICES = {"movmatrix", "mma"}
_CALLED = {"div", "rcp", "sqrt", "rsqrt"}

_LOW = (1 << 32) - 1
_WIDE, _NARROW = {"b64", "u64", "s64"}, {"b32", "u32", "s32", "u16", "s16", "u8", "s8"}
_UNSIGNED = {"u32", "u16", "u8"}
_ALIKE = {"or", "xor", "not", "selp", "and"}
"""Opcodes that make each half of the same half of their operands."""
_UPWARDS = {"add", "sub", "mul", "mad", "neg", "shl"}
"""Opcodes that make the lower half of the lower halves."""


def needed(body: Iterable[syntax.Instruction], results: Iterable[str]) -> dict[str, int]:
    """{register: the halves of it that are needed} of instructions which do something, those that compute what such ones
    read, and of the results of a function, by their names.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry f() { .reg .b32 %r<4>; .reg .b64 %d<5>; "
    >>> text += "add.u64 %d1, %d0, 1; shr.u64 %d2, %d3, 32; cvt.u32.u64 %r1, %d1; cvt.u32.u64 %r2, %d2; "
    >>> text += "add.u32 %r3, %r1, 1; st.shared.v2.u32 [%r1], {%r1, %r2}; ret; }"
    >>> found = needed(parse(text).functions["f"].body, [])
    >>> [found.get(name, 0) for name in ("%d0", "%d3", "%r3")]
    [1, 2, 0]
    """
    found: defaultdict[str, int] = defaultdict(int)
    computes: defaultdict[str, list[syntax.Instruction]] = defaultdict(list)
    todo: list[syntax.Instruction] = []

    def need(halves: Iterable[tuple[str, int]]) -> None:
        for name, which in halves:
            if which & ~found[name]:
                found[name] |= which
                todo.extend(computes[name])

    does = []
    for instruction in body:
        if not _only_computes(instruction):
            does.append(instruction)
            continue
        for name in may_define(instruction):
            computes[name].append(instruction)
    need((name, BOTH) for name in results)
    need(pair for instruction in does for pair in _named(instruction, _of_store(instruction)))
    while todo:
        one = todo.pop()
        need(_named(one, _of_sources(one, found)))
    return found


def _only_computes(instruction):
    """Whether ptxas leaves an instruction out whose results nothing reads. Of rounded quotients and roots it may make calls,
    which stay, and of rsqrt.approx.f64."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    if opcode in LOADS:
        return STAY.isdisjoint(modifiers)
    if opcode == "wmma":
        return "store" not in modifiers[:1]
    if opcode in _CALLED and modifiers[-1][0] == "f":
        return not {"approx", "full"}.isdisjoint(modifiers) and modifiers != ("approx", "f64")
    return opcode in _EXCHANGES | _MATRICES or opcode in FORMS


def _named(one, halves: list[tuple[Any, int]] | None) -> Iterator[tuple[str, int]]:
    """(register, which halves of it) that an instruction reads. halves: of its operands, None if all of all."""
    if halves is None:
        yield from ((name, BOTH) for name in registers_read(one))
        return
    for operand, which in ((one.guard, BOTH), *halves):
        yield from ((name, which) for name in registers_in((operand,)) if which)


def _of_store(one) -> list[tuple[Any, int]] | None:
    """[(an operand, which halves are read)] of a store of 32 bits or less, which may be those of a wider register; else
    None."""
    if one.opcode != "st" or syntax.BITS.get(one.modifiers[-1], 64) > 32:
        return None
    address, *values = one.operands
    return [(address, BOTH), *((value, LOW) for value in values)]


def _of_sources(one, found) -> list[tuple[Any, int]] | None:
    """[(an operand, which halves of it)] that an instruction reads for those of its results that are needed; None if all of
    all."""
    (*others, type), (to, *sources) = one.modifiers or ("",), one.operands or (None,)
    which = 0
    for part, half in _parts(to):
        there = found[getattr(part, "name", "")]
        which |= there if half == BOTH else half * (there > 0)
    if one.opcode == "cvt" and others == ["u64"] and type in _UNSIGNED:
        return [(sources[0], which & LOW)]               # above that are zeros
    if one.opcode == "cvt" and type in _WIDE and len(others) == 1 and others[0] in _NARROW:
        return [(sources[0], LOW)]
    if type not in _WIDE or not {"hi", "wide", "cc", "sat"}.isdisjoint(others):
        return None
    number = getattr(sources[-1], "value", None)
    if one.opcode == "and" and number is not None:
        return [(sources[0], which & (LOW * (number & _LOW > 0) | HIGH * (number >> 32 & _LOW > 0)))]
    if one.opcode == "mov":
        return [(part, which & half) for part, half in _parts(sources[0])]
    if one.opcode in _ALIKE:
        return [(source, which) for source in sources[:2]] + [(source, BOTH) for source in sources[2:]]
    if one.opcode in ("shl", "shr") and number is not None and number >= 32:
        of, moved = (LOW, HIGH) if one.opcode == "shl" else (HIGH, BOTH if type == "s64" else LOW)
        return [(sources[0], of * (which & moved > 0))]
    if one.opcode in _UPWARDS and which == LOW or one.opcode == "shr" and number is not None and which == HIGH:
        return [(source, which) for source in sources]
    return None


def _parts(operand):
    """[(an operand, which halves it has of the 64 bits)] of an operand, of which a vector has several."""
    parts = getattr(operand, "operands", (operand,))
    return [(one, BOTH if len(parts) == 1 else LOW if 2 * i < len(parts) else HIGH) for i, one in enumerate(parts)]
