"""Plain loads whose value is a guess: a compare-and-swap of the same address looks whether it still is there.

`old = *p; do { assumed = old; old = atomicCAS(p, assumed, f(assumed)); } while (old != assumed);` is how CUDA's guide makes
atomics of its own. PTX calls its first read a race with the other threads' atomics. But nothing wrong comes of it, whatever
it reads: if that is no longer there, the loop goes round again. So it counts as a relaxed load, which may meet atomics.

A load is such a guess if on all ways from it to the compare-and-swap its value is only computed with and compared, and at
least one of them has the value itself as what is expected. So has a compare-and-swap of a byte, or of two, which LLVM makes
one of a word: it expects the other bytes as they were, `(old & others) | mine`, and nothing else is done with `old`.
"""

from collections.abc import Iterator
from dataclasses import replace

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.opcodes.lanes import FORMS
from simlayout.machine.ptx.passes.accesses import STRONG
from simlayout.machine.ptx.passes.def_use import defined, registers_read
from simlayout.machine.ptx.passes.known import Known

_ENDS = {"ret", "exit", "trap"}


def guesses(function: syntax.Function, known: Known, unread: bool = False) -> set[int]:
    """The ids of the loads of a function that are guesses. known: what is known of its registers; unread: whether no
    call reads its results, so that what it stores to them is nothing that it does.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0\\n.target sm_90\\n.address_size 64\\n.entry f() { .reg .b32 %r<9>; .reg .b64 %p; .reg .pred %q;"
    >>> text += "ld.global.u32 %r1, [%p]; NEXT: add.s32 %r2, %r1, 5; atom.global.cas.b32 %r3, [%p], %r1, %r2;"
    >>> text += "setp.ne.s32 %q,%r3,%r1; mov.b32 %r1,%r3; @%q bra NEXT; ld.global.b32 %r4, [%p]; st.global.b32 [%p], %r4;}"
    >>> function = parse(text).functions["f"]
    >>> [statement.name for statement in function.body if id(statement) in guesses(function, Known(function))]
    ['ld.global.u32']
    """
    results = {variable.name for variable in function.returns} if unread else set()
    body = [statement for statement in function.body or () if not _gives(statement, results)]
    if not any(_swaps(statement) for statement in body):
        return set()
    flow = _Flow(body, known, function.tables)
    return {id(statement) for at, statement in enumerate(body) if _may_be_one(statement) and flow.is_guess(at)}


def _gives(statement, results):
    """Whether it stores to one of some results of a function."""
    stores = isinstance(statement, syntax.Instruction) and statement.opcode == "st" and "param" in statement.modifiers
    return stores and getattr(getattr(statement.operands[0], "base", None), "name", "") in results


def _swaps(statement):
    return isinstance(statement, syntax.Instruction) and statement.opcode == "atom" and "cas" in statement.modifiers


def _may_be_one(statement):
    return (isinstance(statement, syntax.Instruction) and statement.opcode == "ld" and statement.guard is None
            and {*STRONG, "param", "const", "local"}.isdisjoint(statement.modifiers)
            and isinstance(statement.operands[0], syntax.Register) and isinstance(statement.operands[1], syntax.Address))


class _Flow:
    """Where values go in the statements of a function. tables: of its `brx`, by name."""

    def __init__(self, body, known, tables):
        self._body, self._known, self._tables = body, known, tables
        self._labels = {statement.name: at for at, statement in enumerate(body) if isinstance(statement, syntax.Label)}

    def is_guess(self, load):
        """Whether the load at a place is one."""
        target, place = self._body[load].operands[0], self._known.place(self._body[load].operands[1])
        part = self._part(target.name, load)
        first = frozenset({target.name if part is None else self._body[part].operands[0].name})
        found, seen = False, {}
        todo = [((load if part is None else part) + 1, first, first)]
        while todo:
            at, same, made = todo.pop()                  # registers that have the value; these, and what is made of it
            before = seen.get(at, (same, made))
            same, made = same & before[0], made | before[1]
            if at == len(self._body) or not made or (same, made) == seen.get(at):
                continue
            seen[at], statement, before_it = (same, made), self._body[at], same
            if isinstance(statement, syntax.Instruction):
                checked = (_swaps(statement) and made.intersection(_data(statement))
                           and self._known.place(statement.operands[1]) == place)
                if checked and getattr(statement.operands[2], "name", "") not in same:
                    return False
                found = found or bool(checked)
                if checked and statement.guard is None:
                    continue
                passed = (same, made) if checked else _passed(statement, same, made, place.base)
                if passed is None:
                    return False
                same, made = passed
                if part is not None and statement.opcode == "or" and before_it.intersection(_data(statement)):
                    same |= set(defined(statement))
            todo += [(to, same, made) for to in self._next(at, statement)]
        return found

    def _part(self, name, load):
        """The place of an `and` right behind a load that alone reads what it loads; None where there is none."""
        reads = [at for at, one in enumerate(self._body)
                 if isinstance(one, syntax.Instruction) and name in registers_read(one)]
        masks = reads == [load + 1] and self._body[load + 1].opcode == "and" and self._body[load + 1].guard is None
        return load + 1 if masks else None

    def _next(self, at, statement) -> Iterator[int]:
        opcode = getattr(statement, "opcode", "")
        if opcode == "bra":
            yield self._labels[statement.operands[0].name]
        if opcode == "brx":
            yield from (self._labels[name] for name in self._tables.get(statement.operands[1].name, ()))
        if opcode not in ("bra", "brx", *_ENDS) or statement.guard is not None:
            yield at + 1


def _data(statement):
    """The registers that an instruction reads, but for its guard."""
    return registers_read(replace(statement, guard=None))


def _passed(statement, same, made, base):
    """(same, made) behind a statement, None if it does more with the value than to compute another one, or moves on the
    register of the address."""
    written, uses = set(defined(statement)), made.intersection(_data(statement))
    if base in statement.operands[:1] or uses and statement.opcode not in ("mov", *FORMS):
        return None
    if uses or made.intersection(registers_read(statement)):
        moves = statement.opcode == "mov" and statement.guard is None and isinstance(statement.operands[1], syntax.Register)
        return same | written if moves and len(written) == 1 and uses <= same else same - written, made | written
    return same - written, made if statement.guard is not None else made - written
