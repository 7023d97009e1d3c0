"""Loads whose results nothing reads: they count here, and ptxas may leave them out of the machine code. And functions whose
results no call reads."""

from collections.abc import Iterable, Sequence

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.def_use import registers_in, registers_read, symbols_used

NOTE = "load of shared memory whose result nothing reads: ptxas may leave it out, and Nsight Compute then counts less"


def unread_loads(functions: Iterable[syntax.Function]) -> set[tuple[int, str]]:
    """(line, text) of loads of shared memory in a function none of whose results is read there.

    What is only read to compute what nothing reads counts as read, so some are missed. Volatile loads stay.
    """
    found: set[tuple[int, str]] = set()
    for function in functions:
        body = [s for s in function.body or () if isinstance(s, syntax.Instruction)]
        read = {name for instruction in body for name in registers_read(instruction)}
        for i in body:
            if is_shared_load(i) and not read.intersection(registers_in(i.operands[:1])):
                found.add((i.line, i.text))
    return found


def unread_results(functions: Sequence[syntax.Function]) -> set[str]:
    """Names of those among the functions of a program whose results no call in it reads; none where one calls by a pointer.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .func (.param .b32 r) f() { ret; } "
    >>> text += ".func (.param .b32 r) g() { ret; }"
    >>> text += ".entry k() { .reg .b32 %r<3>; { .param .b32 a; call (a), f, (); ld.param.b32 %r1, [a+0]; } "
    >>> text += "{ .param .b32 b; call (b), g, (); ld.param.b32 %r2, [b]; } st.shared.b32 [0], %r2; ret; }"
    >>> sorted(unread_results([*parse(text).functions.values()]))
    ['f', 'k']
    """
    read = set()
    for function in functions:
        body = [s for s in function.body or () if isinstance(s, syntax.Instruction)]
        for call in (i for i in body if i.opcode == "call"):
            returns, callee = call.operands[:2]
            if not isinstance(callee, syntax.Symbol):
                return set()
            if any(_is_read(result, body, call) for result in getattr(returns, "operands", ())):
                read.add(callee.name)
    return {function.name for function in functions} - read


def _is_read(result, body, call):
    """Whether a result of a call is read by more than loads into registers that nothing reads."""
    if not isinstance(result, syntax.Symbol):
        return True
    uses = [i for i in body if i is not call and result.name in symbols_used(i)]
    loaded = {name for i in uses for name in registers_in(i.operands[:1])}
    return any(i.opcode != "ld" for i in uses) or any(loaded.intersection(registers_read(i)) for i in body)


def is_shared_load(instruction: syntax.Instruction) -> bool:
    """Whether it is an ld of shared memory that is not volatile, or an ldmatrix."""
    if instruction.opcode == "ldmatrix":
        return True
    named = any(modifier.partition("::")[0] == "shared" for modifier in instruction.modifiers)
    return instruction.opcode == "ld" and named and "volatile" not in instruction.modifiers
