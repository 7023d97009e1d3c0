"""Loads of shared memory that only some lanes need, which the others do not execute.

ptxas ends the lanes that a guard keeps from the last store (`@!P0 EXIT`), or that a branch takes to the end of the kernel,
and what is needed behind that alone comes behind it: a warp whose lanes all end does not load. So it is with the tile that a
kernel of Triton turns over in shared memory and stores under a mask. A guarded red or atom of global memory, which ptxas
branches around, has what it alone needs inside the branch; so have several with one guard. Seen in the SASS of ptxas 13.0
and 13.5: loads whose results are needed as they are come behind, and so do those with one operation and a constant between,
except 0, which is a register there. Those of which one instruction of three operands is made first do not, nor do loads
ahead of a barrier, of what acquires or releases, of another store to shared memory, or of such a red.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.def_use import Statements, defined, registers_in, registers_read, symbols_used
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


@dataclass(frozen=True)
class _Parting:
    """Where lanes part for good, or for a red. at: what goes along is put ahead of the statement there; needs: what the
    lanes that go on execute; guard: theirs, None where it is a branch that the others take."""

    at: int
    needs: Sequence[syntax.Instruction | syntax.Label]
    guard: Guard | None


def put_off(body: Statements) -> tuple[Statements, dict[int, Guard]]:
    """(the statements of an entry with such loads where only the lanes come that need them, {id of a load: the guard of what
    needs it, where that is no branch}).

    >>> r, p, a = (syntax.Register(name, type) for name, type in (("%r", "b32"), ("%p", "pred"), ("%a", "b64")))
    >>> load = syntax.Instruction("ld", ("shared", "b32"), (r, syntax.Address(a, 0)), None, 1, 1, None, "")
    >>> test = syntax.Instruction("setp", ("eq", "b64"), (p, a, a), None, 2, 1, None, "")
    >>> store = syntax.Instruction("st", ("global", "b32"), (syntax.Address(a, 0), r), p, 3, 1, None, "")
    >>> made, guards = put_off([load, test, store])
    >>> [statement.opcode for statement in made], guards == {id(load): p}, put_off([load, test, store, store])[1]
    (['setp', 'ld', 'st'], True, {})
    """
    guards: dict[int, Guard] = {}
    for parting in reversed([*_partings(body)]):
        behind = _behind(body, parting)
        loads = [statement for statement in behind if statement.opcode == "ld"]
        if loads:
            ids = set(map(id, behind))
            kept = [statement for statement in body[:parting.at] if id(statement) not in ids]
            body = [*kept, *reversed(behind), *body[parting.at:]]
            guards |= {id(load): parting.guard for load in loads if parting.guard is not None}
    return body, guards


def _behind(body, parting):
    """What goes along to a _Parting, the last first."""
    instructions = [statement for statement in body if isinstance(statement, syntax.Instruction)]
    reads = Counter(name for statement in instructions for name in registers_read(statement))
    needed = Counter(_needed(parting))
    alone = {name: False for name, times in needed.items() if reads[name] == times}
    if parting.guard is None:
        made = Counter(name for statement in instructions for name in defined(statement))
        alone = {name: False for name in alone if made[name] == 1}
    behind: list[syntax.Instruction] = []
    changed: set[str] = set()                            # between a statement and the parting
    for statement in reversed(body[:parting.at - (parting.guard is None)]):
        if isinstance(statement, syntax.Label) or _keeps_ahead(statement) or _branched_around(statement):
            break
        if _goes_along(statement, alone, reads, changed):
            behind.append(statement)
            if statement.opcode != "ld":
                computed = statement.opcode != "mov" or any(alone[name] for name in defined(statement))
                alone.update(dict.fromkeys(registers_read(statement), computed))
        else:
            changed.update(defined(statement))
    return behind


def _needed(parting):
    """The registers that are needed behind a _Parting: of a store or a red what it stores, of a branch all that is read."""
    if parting.guard is not None:
        return registers_in(operand for one in parting.needs for operand in one.operands[1 + (one.opcode == "atom"):])
    return (name for one in parting.needs if isinstance(one, syntax.Instruction) for name in registers_read(one))


def _partings(body: Statements) -> Iterator[_Parting]:
    """Those of a kernel, in their order."""
    ends = _straight_end(body)
    labels = {statement.name: at for at, statement in enumerate(body) if isinstance(statement, syntax.Label)}
    last = next((at for at in reversed(range(ends)) if isinstance(body[at], syntax.Instruction)), -1)
    for at, statement in enumerate(body):
        if isinstance(statement, syntax.Label) or statement.guard is None:
            continue
        if _branched_around(statement):
            yield _Parting(at, _with_its_guard(body, at), statement.guard)
        elif at == last and statement.opcode in ("st", "red"):
            yield _Parting(at, [statement], statement.guard)
        target = len(body) if statement.opcode in ("ret", "exit") else at
        if statement.opcode == "bra":
            target = labels.get(getattr(statement.operands[0], "name", ""), at)
        if target >= ends and _is_entered_once(body, at, target):
            yield _Parting(at + 1, body[at + 1:target], None)


def _with_its_guard(body, at):
    """The reds and atoms from a place on that have one guard, which ptxas branches around together."""
    found = []
    for statement in body[at:]:
        if isinstance(statement, syntax.Label) or _keeps_ahead(statement):
            break
        if _branched_around(statement):
            if statement.guard != body[at].guard:
                break
            found.append(statement)
    return found


def _straight_end(body):
    """Where the labels and returns begin that end a kernel."""
    at = len(body)
    while at and (isinstance(body[at - 1], syntax.Label) or body[at - 1].opcode in ("ret", "exit")
                  and body[at - 1].guard is None):
        at -= 1
    return at


def _is_entered_once(body, at, target):
    """Whether no branch leads to what stands between two places from outside."""
    inside = {statement.name for statement in body[at + 1:target] if isinstance(statement, syntax.Label)}
    outside = (*body[:at + 1], *body[target:])
    return not inside or inside.isdisjoint(name for statement in outside for name in symbols_used(statement))


def _branched_around(statement):
    """Whether it is what ptxas branches around where its guard does not hold: a red or atom of global memory."""
    return statement.guard is not None and statement.opcode in ("red", "atom") and "global" in statement.modifiers


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
