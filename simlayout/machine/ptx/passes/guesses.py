"""Plain loads whose value is a guess: a compare-and-swap of the same address looks whether it still is there.

`old = *p; do { assumed = old; old = atomicCAS(p, assumed, f(assumed)); } while (old != assumed);` is how CUDA's guide makes
atomics of its own. PTX calls its first read a race with the other threads' atomics. But nothing wrong comes of it, whatever
it reads: if that is no longer there, the loop goes round again. So it counts as a relaxed load, which may meet atomics.

A load is such a guess if on all ways from it to the compare-and-swap its value is only computed with and compared, and at
least one of them has the value itself as what is expected. So has a compare-and-swap of a byte, or of two, which LLVM makes
one of a word: it expects the other bytes as they were, `(old & others) | mine`, and nothing else is done with `old`.
Functions that are called may compute with it too, as nvcc -G calls what it does not put in place.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.accesses import STRONG
from simlayout.machine.ptx.passes.known import Known
from simlayout.machine.ptx.passes.statements import COMPUTES, instructions, places

_COMPUTES = COMPUTES - {"cvta"}                          # which makes an address of it


def guesses(function: syntax.Function, known: Known, functions: Mapping[str, syntax.Function] | None = None,
            unread: bool = False) -> set[int]:
    """The ids of the loads of a function that are guesses. known: what is known of its registers; functions: those that it
    may call, by name; unread: whether no call reads its results, so that what it stores to them is nothing that it does.

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
    flow = _Flow(body, known, function, _Calls(functions or {}))
    return {id(statement) for at, statement in enumerate(body) if _may_be_one(statement) and flow.is_guess(at)}


def _gives(statement, results):
    """Whether it stores to one of some results of a function."""
    stores = statement.opcode == "st" and "param" in statement.spaces
    return stores and getattr(getattr(statement.operands[0], "base", None), "name", "") in results


def _swaps(statement):
    return statement.opcode == "atom" and "cas" in statement.modifiers


def _may_be_one(statement):
    return (statement.opcode == "ld" and statement.guard is None
            and STRONG.isdisjoint(statement.modifiers) and {"param", "const", "local"}.isdisjoint(statement.spaces)
            and isinstance(statement.operands[0], syntax.Register) and isinstance(statement.operands[1], syntax.Address))


class _Flow:
    """Where values go in the statements of a function, `body`. calls: _Calls."""

    def __init__(self, body, known, function, calls):
        self._body, self._known, self._tables, self._calls = body, known, function.tables, calls
        self._results = {variable.name for variable in function.returns}
        self._labels = places(body)

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
                passed = (same, made) if checked else self._calls.passed(statement, same, made, place.base)
                if passed is None or not self._results.isdisjoint(passed[1]):
                    return False
                same, made = passed
                if part is not None and statement.opcode == "or" and before_it.intersection(_data(statement)):
                    same |= set(statement.writes)
            todo += [(to, same, made) for to in self._next(at, statement)]
        return found

    def _part(self, name, load):
        """The place of an `and` right behind a load that alone reads what it loads; None where there is none."""
        reads = [at for at, one in enumerate(self._body)
                 if name in one.reads]
        masks = reads == [load + 1] and self._body[load + 1].opcode == "and" and self._body[load + 1].guard is None
        return load + 1 if masks else None

    def _next(self, at, statement) -> Iterator[int]:
        if statement.opcode == "bra":
            yield self._labels[statement.operands[0].name]
        if statement.opcode == "brx":
            yield from (self._labels[name] for name in self._tables.get(statement.operands[1].name, ()))
        if statement.falls:
            yield at + 1


class _Calls:
    """Of functions, by name: which of them only compute with what they are given."""

    def __init__(self, functions):
        self._functions, self._found = functions, {}

    def passed(self, statement, same, made, base=None):
        """(same, made) behind a statement, None if it does more with the value than to compute another one, or moves on the
        register of the address. What a call passes and takes counts as a register."""
        written, uses = _results(statement), made.intersection(_data(statement))
        if base in statement.operands[:1] or uses and not self._computes(statement, uses):
            return None
        if uses or made.intersection(statement.reads):
            moves = _is_param(statement) or statement.opcode == "mov" and isinstance(statement.operands[1], syntax.Register)
            alone = moves and statement.guard is None and len(written) == 1 and uses <= same
            return same | written if alone else same - written, made | written
        return same - written, made if statement.guard is not None else made - written

    def _computes(self, statement, uses):
        if statement.opcode != "call":
            return statement.opcode in _COMPUTES or _is_param(statement)
        name, given = getattr(statement.operands[1], "name", ""), _names(statement.operands[2:3])
        which = name, frozenset(at for at, one in enumerate(given) if one in uses)
        if which not in self._found:
            self._found[which] = False                   # while it is looked at: it may call itself
            self._found[which] = name in self._functions and self._only_computes(self._functions[name], which[1])
        return self._found[which]

    def _only_computes(self, function, which):
        """Whether a function does with its parameters at some places no more than `passed` lets it."""
        made, before = frozenset(function.parameters[at].name for at in which), None
        while made != before:
            before = made
            for statement in instructions(function.body):
                passed = self.passed(statement, frozenset(), made)
                if passed is None:
                    return False
                made |= passed[1]                        # in whatever order they are executed
        return bool(function.body)


def _is_param(statement):
    """Whether it moves a number to what a call passes, or from what it takes, or so of the function's own."""
    return statement.opcode in ("ld", "st") and "param" in statement.spaces


def _names(operands):
    """Of the variables in the parts of a call."""
    return [getattr(one, "name", "") for part in operands for one in getattr(part, "operands", ())]


def _results(statement):
    """The names of the registers, and of what counts as such, that an instruction writes."""
    if statement.opcode == "call":
        return {*_names(statement.operands[:1])}
    stores = _is_param(statement) and statement.opcode == "st"
    return {*statement.writes, *(statement.symbols if stores else ())}


def _data(statement):
    """Those that it reads, but for its guard."""
    if statement.opcode == "call":
        return _names(statement.operands[2:3])
    stores = _is_param(statement) and statement.opcode == "st"
    return [*replace(statement, guard=None).reads, *(() if stores else statement.symbols)]
