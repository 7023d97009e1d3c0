"""Loads whose results nothing reads, which ptxas leaves out; and functions whose results no call reads."""

from collections.abc import Sequence, Set

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.accesses import LOADS, STAY
from simlayout.machine.ptx.passes.known import Known
from simlayout.machine.ptx.passes.statements import Statements, instructions, registers_in

NOTE = "load whose result nothing needs: ptxas leaves it out, and it counts nothing"
_PARAMETERS = "param"
"""The space of which nothing is left out, and no note said: to read a parameter, as the result of a call, costs nothing."""


def unread_loads(body: Statements, known: Known) -> set[int]:
    """The ids of loads in a body none of whose results is needed: read by nothing, or by what computes what nothing reads,
    exchanges between lanes and products of matrices among it. Volatile loads stay. Seen in the SASS of ptxas 13.0.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry k() { .reg .b32 %r<4>; ld.shared.b32 %r1, [0]; "
    >>> text += "shfl.sync.bfly.b32 %r2, %r1, 1, 31, -1; ld.shared.b32 %r3, [4]; st.shared.b32 [0], %r3; ret; }"
    >>> function = parse(text).functions["k"]
    >>> unread = unread_loads(function.body, Known(function))
    >>> [id(statement) in unread for statement in function.body]
    [True, False, False, False, False]
    """
    return {id(s) for s in _loads(body, STAY) if all(map(known.unread, getattr(s.operands[0], "operands", s.operands[:1])))}


def loads_read_by_nothing(function: syntax.Function, named: Set[str]) -> set[int]:
    """The ids of those that ptxas leaves out of PTX of nvcc -G, where a move into a variable that nothing reads stays, and a
    relaxed load, and one of a matrix. named: registers that hold a variable.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> text = ".version 9.0 .target sm_90 .address_size 64 .entry k() { .reg .b32 %r<4>; ld.shared.b32 %r1, [0]; "
    >>> function = parse(text + "ld.shared.b32 %r2, [4]; mov.b32 %r3, %r2; ret; }").functions["k"]
    >>> [id(statement) in loads_read_by_nothing(function, set()) for statement in function.body]
    [True, False, False, False]
    """
    read = {name for one in instructions(function.body) for name in one.reads}
    read.update(named, (one.name for one in function.returns))
    loads = [one for one in _loads(function.body, {*STAY, "relaxed"}) if one.opcode in ("ld", "ldu")]
    return {id(one) for one in loads if read.isdisjoint(one.writes)}


def _loads(body, kept):
    """Loads that have none of some modifiers, but of parameters."""
    return [one for one in instructions(body)
            if one.opcode in LOADS and kept.isdisjoint(one.modifiers) and _PARAMETERS not in one.spaces
            or one.opcode == "wmma" and "load" in one.modifiers]


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
        body = instructions(function.body)
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
    uses = [i for i in body if i is not call and result.name in i.symbols]
    loaded = {name for i in uses for name in registers_in(i.operands[:1])}
    return any(i.opcode != "ld" for i in uses) or any(loaded.intersection(i.reads) for i in body)
