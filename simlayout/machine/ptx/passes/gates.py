"""Loads of shared memory that only the lanes behind a gate need: a branch, an end of some lanes, a guarded store.

ptxas puts such loads behind the gate, so that a warp of which no lane passes does not load. So it is with the tile that a
kernel of Triton turns over in shared memory and stores under a mask. Seen in the SASS of ptxas 13.0 and 13.5, where these
are gates, of those that the instructions of a kernel come to in their order:

- `@p bra` to the end of the kernel, `@p ret`, and the last store under a guard: they become `@p EXIT`;
- `@p atom`, `@p red`: a branch around it, and around others with the same guard;
- `@p bra` around lines that ptxas does not put under predicates instead: an atomic or a shuffle is among them, another
  branch, or there are many, which are fewer where nothing behind them loads global memory.

A load that is ahead of lines which ptxas puts under predicates, and of their branch, comes behind a gate that follows, too:
of `if (i < n) o[i] = a; if (j < n) o[j] = b;` at the end of a kernel b is loaded behind `@p EXIT`, and a is not.

Loads whose results are used as they are, or as another type, come behind, and so do those with one operation and a constant
between, except 0, which is a register there; of several uses, as of the two halves of a word, each must be of these kinds.
Those of which one instruction of three operands is made first do not, nor do loads ahead of a barrier, of what acquires or
releases, or of another store to shared memory, nor those that make 64 bits of a smaller number. ptxas joins loads, and
leaves out those of what a thread has, before it moves them: one that counts for another one stays ahead of what that is
needed for.
"""

from collections.abc import Mapping
from dataclasses import replace

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.accesses import STRONG, is_shared_load
from simlayout.machine.ptx.passes.ends import late
from simlayout.machine.ptx.passes.known import Known
from simlayout.machine.ptx.passes.lines import Guard, Lines, branched_around, keeps_ahead
from simlayout.machine.ptx.passes.statements import Statements
from simlayout.machine.ptx.syntax import BITS

_COMPUTED = {"add": ("u32", "s32", "f32", "f64"), "sub": ("u32", "s32", "f32"), "mul": ("u32", "s32", "f32"),
             "min": ("u32", "s32", "f32"), "max": ("u32", "s32", "f32"), "shl": ("b32",), "shr": ("b32", "u32", "s32"),
             "abs": ("s32",), **dict.fromkeys(("and", "or", "xor", "not"), ("b32",))}
"""The types of what comes along with a load by opcode: one of these stands between it and what needs it, and any number of
those that are free."""

_PACKED = {"cvt.rn.f16.f32", "cvt.rn.bf16.f32"}
"""Two of these in a block ptxas makes one of, which has two operands."""


def put_off(function: syntax.Function, within: Mapping[int, set[int]],
            known: Known) -> tuple[Statements, dict[int, Guard]]:
    """(the statements of an entry with such loads right behind their gates, {id of a load that is under a guard there: that
    guard}). within: {id of a load: the ids of others that count for it}; known: what is known of its registers.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry k() { .reg .b32 %r<3>; .reg .b64 %a; .reg .pred %p;"
    >>> text += "ld.shared.b32 %r1, [%r2]; @%p bra $end; red.global.add.u32 [%a], %r1; $end: ret; }"
    >>> function = parse(text).functions["k"]
    >>> body, _ = put_off(function, {}, Known(function))
    >>> [statement.opcode for statement in body]
    ['bra', 'ld', 'red', '', 'ret']
    """
    body = list(function.body or ())
    lines, guards, at = Lines.of(function, within, known), dict[int, Guard](), 0
    while at < len(body):
        gate = lines.gate(at)
        for look in (_behind, late):
            if gate is None or look is late and not gate.ends or not (behind := look(lines, gate)):
                continue
            ids, first = set(map(id, behind)), gate.inside[0]
            body[:first] = [*(s for s in body[:first] if id(s) not in ids), *reversed(behind)]
            if gate.guard is None:
                at -= len(behind)                        # the gate has moved up
            else:
                guards |= {id(one): gate.guard for one in behind if one.opcode == "ld"}
            lines = Lines.of(replace(function, body=tuple(body)), within, known)
            gate = lines.gate(at)
        at += 1
    return body, guards


def apart(body: Statements, guards: dict[int, Guard]) -> Statements:
    """The statements that `put_off` made with a label ahead of loads under a guard, which are in a basic block of their own.

    >>> load = syntax.Instruction("ld", (), (), None, 1, 1, None, "")
    >>> [type(one).__name__ for one in apart([load, load], {id(load): syntax.Register("%p", "pred")})]
    ['Label', 'Instruction', 'Instruction']
    """
    made: list[syntax.Statement] = []
    for before, statement in zip((None, *body), body):
        if id(statement) in guards and id(before) not in guards:
            made.append(syntax.Label("", statement.line))
        made.append(statement)
    return made


def _behind(lines, gate, kept=frozenset()):
    """The loads of a gate's basic block, as ptxas has it, that come behind it, and what comes along, the last one first.
    kept: ids of what does not."""
    alone: dict[str, bool] = {}                          # register that is read behind it alone -> whether it is computed
    along: dict[int, bool] = {}                          # where what comes along is -> whether something is computed there
    behind: list[syntax.Instruction] = []
    changed: set[str] = set()                            # between a statement and the gate
    stay: set[str] = set()                               # names of what is between the block's start and the gate, and stays
    skipped = gate.at                                    # where the branch is that a statement is behind, up to its label
    then: tuple[int, object] = (gate.at, None)           # where the next one behind it is, and its guard
    for at in range(gate.at - 1, -1, -1):
        statement = lines.body[at]
        if at > skipped and statement.opcode in ("", "bra"):
            continue
        if isinstance(statement, syntax.Label):
            skipped = lines.predicated(at, then)
            if skipped < 0:
                break
            then = skipped, lines.body[skipped].guard
            continue
        if at == skipped:
            skipped = gate.at
            continue
        if keeps_ahead(statement):
            break
        if at > skipped:
            changed.update(statement.writes)
            stay.add(statement.name)
            continue
        if branched_around(statement) and (gate.guard is None or statement.guard != gate.guard):
            break
        alone |= {name: any(along.get(reader, False) for reader in readers) for name in statement.writes
                  if (readers := lines.reads[name]) and gate.holds(one for one in readers if one not in along)}
        if id(statement) not in kept and _goes_along(statement, alone, lines.reads, changed):
            behind.append(statement)
            along[at] = statement.opcode != "ld" and (
                not _is_free(statement) or any(alone.get(name, False) for name in statement.writes))
        else:
            changed.update(statement.writes)
            stay.add(statement.name)
    if more := _kept(lines, gate, behind):
        return _behind(lines, gate, kept | more)
    return behind if all(_PACKED.isdisjoint({one.name} & stay) for one in behind) else []


def _kept(lines, gate, behind):
    """The ids of those of some statements that stay because others do: loads that count for a load which is neither among
    them nor inside the gate, and what is not computed of a load."""
    ids, loaded, found = set(map(id, behind)), set[str](), set[int]()
    for one in reversed(behind):
        if one.opcode == "ld":
            goes = gate.holds([at for at in lines.holding[id(one)] if id(lines.body[at]) not in ids])
        else:
            goes = loaded.issuperset(one.reads)
        if goes:
            loaded.update(one.writes)
        else:
            found.add(id(one))
    return found


def _goes_along(statement, alone, reads, changed):
    """Whether a statement comes behind the gate. alone: {register that is read there alone, or by what goes along: whether
    something is computed from it}; reads: where registers are read; changed: those that have another value at the gate."""
    needed, made = [*statement.reads], {*statement.writes}
    if statement.guard is not None or changed.intersection((*needed, *made)) or any(reads[name] for name in made - {*alone}):
        return False
    if statement.opcode == "ld":
        return (STRONG.isdisjoint(statement.modifiers) and is_shared_load(statement) and not made.isdisjoint(alone)
                and not _widens(statement))
    if made.isdisjoint(alone) or len(needed) != 1:
        return False
    return _is_free(statement) or _has_one_operand(statement) and not any(alone.get(name) for name in made)


def _widens(load):
    """Whether a load makes 64 bits of a smaller number: its other half is computed where the load stands."""
    return BITS[load.modifiers[-1]] < 64 and getattr(load.operands[0], "type", "") in ("b64", "u64", "s64")


def _is_free(statement):
    """Whether it is a copy, changes the sign of a register of floats, or makes another type of a number, but for integers
    that become 64 bits wide."""
    if statement.opcode in ("neg", "abs"):
        return getattr(statement.operands[1], "type", "") == "f32"
    if statement.opcode != "cvt":
        return statement.opcode == "mov"
    *_, to, of = statement.modifiers
    wider = to in ("u64", "s64") and of not in ("u64", "s64") and of[0] != "f"
    return not wider and {"sat", "tf32"}.isdisjoint(statement.modifiers) and len(statement.operands) == 2


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
