"""Loads of shared memory that only the last store of a kernel needs, which not all lanes execute.

ptxas ends the lanes that a guard keeps from the last store (`@!P0 EXIT`), and what that store alone needs comes behind: a
warp of which no lane stores does not load. So it is with the tile that a kernel of Triton turns over in shared memory and
stores under a mask. Seen in the SASS of ptxas 13.0 and 13.5: loads whose results are stored as they are come behind, and so
do those with one operation and a constant between, except 0, which is a register there. Those of which one instruction of
three operands is made first do not, nor do loads ahead of a barrier, of what acquires or releases, or of another store to
shared memory.
"""

from collections import Counter

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.def_use import Statements, defined, registers_in, registers_read
from simlayout.machine.ptx.passes.joined import keeps_apart
from simlayout.machine.ptx.passes.unread import is_shared_load

Guard = syntax.Register | syntax.Negated

_COMPUTED = {"add": ("u32", "s32", "f32", "f64"), "sub": ("u32", "s32", "f32"), "mul": ("u32", "s32", "f32"),
             "min": ("u32", "s32", "f32"), "max": ("u32", "s32", "f32"), "shl": ("b32",), "shr": ("b32", "u32", "s32"),
             **dict.fromkeys(("and", "or", "xor", "not"), ("b32",))}
"""The types of what comes along with a load by opcode: one of these, and copies, stand between it and the store."""

_ORDERED = {"acquire", "release", "acq_rel"}
"""Of what orders other accesses, whatever memory it touches."""
_STRONG = _ORDERED | {"relaxed"}
"""Of loads that stay where they are, besides those that are volatile."""


def put_off(body: Statements) -> tuple[Statements, dict[int, Guard]]:
    """(the statements of an entry with such loads right ahead of the last store, {id of a load: the guard of that store}).

    >>> r, p, a = (syntax.Register(name, type) for name, type in (("%r", "b32"), ("%p", "pred"), ("%a", "b64")))
    >>> load = syntax.Instruction("ld", ("shared", "b32"), (r, syntax.Address(a, 0)), None, 1, 1, None, "")
    >>> test = syntax.Instruction("setp", ("eq", "b64"), (p, a, a), None, 2, 1, None, "")
    >>> store = syntax.Instruction("st", ("global", "b32"), (syntax.Address(a, 0), r), p, 3, 1, None, "")
    >>> made, guards = put_off([load, test, store])
    >>> [statement.opcode for statement in made], guards == {id(load): p}, put_off([load, test, store, store])[1]
    (['setp', 'ld', 'st'], True, {})
    """
    at, store = _last_store(body)
    if store is None:
        return body, {}
    reads = Counter(name for s in body if isinstance(s, syntax.Instruction) for name in registers_read(s))
    stored = Counter(registers_in(store.operands[1:]))
    alone = {name: False for name, times in stored.items() if reads[name] == times}
    behind: list[syntax.Instruction] = []
    changed: set[str] = set()                            # between a statement and the store
    for statement in reversed(body[:at]):
        if isinstance(statement, syntax.Label) or _keeps_ahead(statement):
            break
        if _goes_along(statement, alone, reads, changed):
            behind.append(statement)
            if statement.opcode != "ld":
                computed = statement.opcode != "mov" or any(alone[name] for name in defined(statement))
                alone.update(dict.fromkeys(registers_read(statement), computed))
        else:
            changed.update(defined(statement))
    loads = [statement for statement in behind if statement.opcode == "ld"]
    if not loads:
        return body, {}
    ids = set(map(id, behind))
    kept = [statement for statement in body[:at] if id(statement) not in ids]
    return [*kept, *reversed(behind), *body[at:]], {id(load): store.guard for load in loads}


def _goes_along(statement, alone, reads, changed):
    """Whether a statement comes behind the end of the lanes that do not store. alone: {register that only the store reads,
    or what goes along: whether something is computed from it}; reads: how often each register is read; changed: those that
    have another value at the store."""
    needed, made = [*registers_read(statement)], {*defined(statement)}
    if statement.guard is not None or changed.intersection((*needed, *made)) or any(reads[name] for name in made - {*alone}):
        return False
    if statement.opcode == "ld":
        return _STRONG.isdisjoint(statement.modifiers) and is_shared_load(statement) and not made.isdisjoint(alone)
    if not made <= {*alone} or [reads[name] for name in needed] != [1]:
        return False
    return statement.opcode == "mov" or _has_one_operand(statement) and not any(alone[name] for name in made)


def _has_one_operand(statement):
    """Whether it is one of _COMPUTED, of a register and at most a constant."""
    first, *constants = statement.operands[1:]
    if statement.opcode not in ("shl", "shr") and constants and not isinstance(first, syntax.Register):
        first, constants = constants[0], [first]
    known = statement.modifiers[-1] in _COMPUTED.get(statement.opcode, ()) and {"cc", "wide"}.isdisjoint(statement.modifiers)
    return known and all(map(_is_constant, constants))


def _is_constant(operand):
    """Whether it is a number that an instruction holds, which 0 is not: that is a register of its own."""
    return bool(operand.value if isinstance(operand, syntax.Integer) else getattr(operand, "bits", 0))


def _keeps_ahead(statement):
    """Whether no load that is ahead of an instruction comes behind it."""
    return keeps_apart(statement, False) or not _ORDERED.isdisjoint(statement.modifiers)


def _last_store(body):
    """(where, the Instruction) of the last thing that a kernel does if a guard keeps lanes from it, and it is a store or a
    red; else (0, None)."""
    for at in reversed(range(len(body))):
        statement = body[at]
        if isinstance(statement, syntax.Label) or statement.opcode in ("ret", "exit") and statement.guard is None:
            continue
        stores = statement.opcode in ("st", "red") and statement.guard is not None
        return (at, statement) if stores else (0, None)
    return 0, None
