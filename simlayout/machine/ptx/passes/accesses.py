"""Which statements access shared memory, which of these are plain loads and stores, and what keeps such apart for ptxas."""

from typing import NamedTuple

from simlayout.machine.arithmetic.carriers import WIDTHS
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.statements import AWAY, COMPUTES

STRONG = {"volatile", "relaxed", "acquire", "release", "mmio"}
"""Modifiers of strong loads and stores."""
LOADS = {"ld", "ldu", "ldmatrix"}
STAY = {"volatile", "mmio"}
"""Modifiers of loads that ptxas does not leave out if nothing reads their results."""

ENDS = {*AWAY, "bar", "barrier", "fence", "membar", "mbarrier", "stmatrix", "wgmma", "wmma", "griddepcontrol", "nanosleep"}
"""Opcodes past which nothing is joined; those that may touch shared memory come on top."""
_TOUCH = {"ld", "st", "atom", "red", "ldmatrix", "tensormap"}
"""Opcodes that touch the memory that a modifier names, or any."""


class PlainAccess(NamedTuple):
    """A load or store of shared memory, which is not volatile. type, size: of an element, the size in bytes; elements: what
    is loaded or stored, one of them where it is no vector."""

    store: bool
    address: syntax.Address
    type: str
    size: int
    elements: tuple[syntax.Operand, ...]


def plain_access(statement: syntax.Statement) -> PlainAccess | None:
    """What a statement is, if it is one.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry k() { .reg .b32 %r<4>; "
    >>> text += "ld.shared.v2.u16 {%r1, %r2}, [%r3]; st.shared.f32 [%r3], %r1; st.volatile.shared.f32 [%r3], %r1; "
    >>> text += "st.global.f32 [%r3], %r1; ret; }"
    >>> [one and (one.store, one.size, len(one.elements)) for one in map(plain_access, parse(text).functions["k"].body)]
    [(False, 2, 2), (True, 4, 1), None, None, None]
    """
    if statement.opcode not in ("ld", "st"):
        return None
    modifiers = [one for one in statement.modifiers if one != "weak"]                # as all are that are not strong
    if len(statement.operands) != 2 or len(modifiers) < 2:
        return None
    (space, *vector, type), store = modifiers, statement.opcode == "st"
    address, value = statement.operands[not store], statement.operands[store]
    known = syntax.SPACES.get(space) == "shared" and vector in ([], ["v2"], ["v4"]) and type in WIDTHS
    if not known or not isinstance(address, syntax.Address):
        return None
    elements = value.operands if isinstance(value, syntax.Vector) else (value,)
    return PlainAccess(store, address, type, WIDTHS[type] // 8, elements)


def is_shared_load(statement: syntax.Statement) -> bool:
    """Whether it is an ld of shared memory that is not volatile, or an ldmatrix."""
    if statement.opcode == "ldmatrix":
        return True
    return statement.opcode == "ld" and statement.names_shared and "volatile" not in statement.modifiers


def may_be_shared(access: syntax.Instruction) -> bool:
    """Whether an access may be one of shared memory, by the spaces that it names: cp.async names two."""
    return access.names_shared or not access.spaces and "commit_group" not in access.modifiers


def keeps_apart(statement: syntax.Statement, store: bool) -> bool:
    """Whether loads of shared memory on both sides of a statement stay apart; store: whether stores do."""
    if statement.opcode in ENDS or becomes_branches(statement, store):
        return True
    if not store and statement.opcode not in _TOUCH and statement.opcode != "cp":
        return False
    if store and not {"release", "acq_rel"}.isdisjoint(statement.modifiers):
        return True
    if statement.opcode == "cp":
        return "commit_group" not in statement.modifiers
    if statement.opcode not in _TOUCH or not {*statement.spaces} <= {"shared", "shared::cluster"}:
        return False
    return store or statement.opcode not in ("ld", "ldmatrix")


def may_change(statement: syntax.Instruction) -> bool:
    """Whether loads of shared memory on both sides of an instruction may load different things, or stay apart for another
    reason than that it is a branch or an end of the kernel."""
    return statement.opcode not in syntax.BRANCHES | syntax.ENDS and keeps_apart(statement, False)


def becomes_branches(statement: syntax.Statement, store: bool) -> bool:
    """Whether ptxas makes branches of arithmetic, or what keeps stores apart (store: whether that counts): of quotients and
    roots that are rounded, and of quotients of integers that are not of 32 bits, whatever they are divided by. Of a guard it
    does at first, but for that of arithmetic; that keeps stores apart, and loads of 16 bits.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry k() { .reg .b32 %r; .reg .b64 %d; .reg .pred %p; "
    >>> text += "@%p ld.global.b32 %r, [%d]; @%p add.u32 %r, %r, 1; div.s32 %r, %r, 3; div.u64 %d, %d, 3; ret; }"
    >>> body = parse(text).functions["k"].body
    >>> [(becomes_branches(one, True), becomes_branches(one, False)) for one in body[:4]]
    [(True, False), (False, False), (True, False), (True, True)]
    """
    opcode, modifiers = statement.opcode, statement.modifiers
    if store and statement.guard is not None and opcode not in COMPUTES:
        return True
    if opcode == "rsqrt":
        return modifiers == ("approx", "f64")
    if opcode in ("div", "rem") and modifiers[-1][0] != "f":
        return modifiers[-1] != "u32" and (store or modifiers[-1] != "s32")
    return opcode in ("div", "rcp", "sqrt") and modifiers[0] in ("rn", "rz", "rm", "rp")
