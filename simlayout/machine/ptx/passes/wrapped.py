"""Calls of functions that wrap an instruction or a few, such as an atomic, a vote or the load of a flag: put in the place of
the call.

So does nvcc, but not with `-G`: there `atomicCAS` is a function that calls a function of one instruction, and neither a loop
around it nor what is asked of its value can be seen in one body.

Such a function takes and gives back numbers, and does one thing after another: it has no branches past anything, no loads
and stores but strong ones, and calls only others of its kind. Nor has it sums and products of floats, which ptxas does not
fuse across a call. Parameters become registers, and so what is stored to them moves.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.passes.accesses import STRONG
from simlayout.machine.ptx.passes.statements import COMPUTES, instructions, places

_WRAPPED = COMPUTES | {"atom", "red", "membar", "fence", "nanosleep", "shfl", "vote", "match", "redux", "activemask"}
"""Opcodes of what is wrapped."""

_FUSED = {"mul", "add", "sub"}
_FLOATS = {"f16", "f16x2", "bf16", "bf16x2", "f32", "f32x2", "f64"}
_MOST = 64              # statements of a wrapper
_CALLERS = 32           # of a line that are kept
_MOVED = (16, 32, 64)   # bits of a number that `mov` moves

_Body = tuple[syntax.Statement, ...]


class Wrappers:
    """Those among the functions of a module."""

    def __init__(self, functions: Mapping[str, syntax.Function]):
        self._functions = functions
        self._found: dict[str, syntax.Function | None] = {}

    def put_in(self, function: syntax.Function) -> syntax.Function:
        """The function with the bodies of wrappers in the place of their calls; itself if it calls none.

        >>> from simlayout.machine.ptx.parser.grammar import parse
        >>> text = ".version 9.0 .target sm_90 .address_size 64 .func (.param .b32 was) count(.param .b64 at) { "
        >>> text += ".reg .b32 %r; .reg .b64 %p; ld.param.u64 %p, [at]; atom.inc.u32 %r, [%p], 9; "
        >>> text += "st.param.b32 [was], %r; ret; }"
        >>> text += ".entry k() { .reg .b64 %q; .reg .b32 %s; { .param .b64 to; .param .b32 from; st.param.b64 [to], %q; "
        >>> functions = parse(text + "call (from), count, (to); ld.param.b32 %s, [from]; } ret; }").functions
        >>> [statement.name for statement in Wrappers(functions).put_in(functions["k"]).body]
        ['mov.b64', 'mov.b64', 'atom.inc.u32', 'mov.b32', 'mov.b32', 'ret']
        """
        calls = {at: wrapper for at, statement in enumerate(function.body or ())
                 if (wrapper := self._called(statement)) is not None}
        if not calls:
            return function
        made = _Passed(function)
        inside = {at: (wrapper, names) for at, wrapper in calls.items() if (names := made.names_of(at, wrapper)) is not None}
        return replace(function, body=made.body(inside))

    def _called(self, statement):
        """The wrapper that a statement calls, itself without calls, or None."""
        if statement.opcode != "call" or statement.guard is not None:
            return None
        name = getattr(statement.operands[1], "name", "")
        if name not in self._found:
            self._found[name] = None                     # while it is looked at: it may call itself
            callee = self._functions.get(name)
            if callee is not None and len(callee.body or ()) <= _MOST:
                callee = self.put_in(callee)
                self._found[name] = callee if _is_wrapper(callee) else None
        return self._found[name]


def _is_wrapper(function):
    body = instructions(_without_idle(function.body or ()))
    passed = {variable.name: variable for variable in (*function.parameters, *function.returns)}
    own = [variable for variable in function.variables.values() if variable.space != "param"]
    return (body and len(body) <= _MOST and body[-1].opcode == "ret" and body[-1].guard is None and not own
            and all(map(_is_number, passed.values())) and all(_is_plain(one, passed) for one in body[:-1]))


def _without_idle(body):
    """Statements without branches past nothing, as nvcc -G leaves them of a check of `this`."""
    labels = places(body)

    def leads(at):
        return labels.get(getattr(body[at].operands[0], "name", ""), -1) if body[at].opcode == "bra" else -1

    def is_idle(at):
        to = leads(at)
        return to > at and all(isinstance(body[i], syntax.Label) or at < leads(i) <= to for i in range(at + 1, to))

    return [one for at, one in enumerate(body) if isinstance(one, syntax.Label) or not is_idle(at)]


def _is_plain(instruction, passed):
    if instruction.opcode in _FUSED and _FLOATS.intersection(instruction.modifiers):
        return False
    if not passed.keys().isdisjoint(instruction.symbols):
        return _moves(instruction, passed)
    strong = instruction.opcode in ("ld", "st") and not STRONG.isdisjoint(instruction.modifiers)
    return strong or instruction.opcode in _WRAPPED


def _is_number(variable):
    return variable.space == "param" and not variable.shape and 8 * variable.bytes in _MOVED


def _moves(statement, variables):
    """Whether it loads or stores the whole of one of some variables."""
    moved = _moved(statement)
    return moved is not None and all(name in variables and 8 * variables[name].bytes == syntax.BITS[moved.modifiers[0]]
                                     for name in statement.symbols)


class _Passed:
    """What a function passes to others, in variables of its own."""

    def __init__(self, function: syntax.Function):
        self._function = function
        self._body: tuple[Any, ...] = function.body or ()
        self._uses: dict[str, list[int]] = {}
        for at, statement in enumerate(self._body):
            for name in statement.symbols:
                self._uses.setdefault(name, []).append(at)

    def names_of(self, at: int, wrapper: syntax.Function) -> tuple[list[str], list[str]] | None:
        """The names of the variables in which a call passes numbers and takes results, None if they are used otherwise."""
        returns, _, given = self._body[at].operands[:3]
        names = [[getattr(one, "name", "") for one in part.operands] for part in (given, returns)]
        counts = len(wrapper.parameters), len(wrapper.returns)
        if (len(names[0]), len(names[1])) != counts or not all(map(self._is_moved, names[0] + names[1])):
            return None
        return names[0], names[1]

    def _is_moved(self, name):
        """Whether a variable passes a number to one call, or takes one, and does nothing else."""
        variable = self._function.variables.get(name)
        others = [at for at in self._uses.get(name, ()) if self._body[at].opcode != "call"]
        return (variable is not None and _is_number(variable) and len(others) == len(self._uses[name]) - 1
                and all(_moves(self._body[at], {name: variable}) for at in others))

    def body(self, inside: Mapping[int, tuple[syntax.Function, tuple[list[str], list[str]]]]) -> _Body:
        """The statements, with what is passed to wrappers as registers. inside: {place of a call: (wrapper, `names_of`)}."""
        gone = {name for _, names in inside.values() for part in names for name in part}
        made: list[syntax.Statement] = []
        for at, statement in enumerate(self._body):
            if at in inside:
                made += _copied(statement, *inside[at], f"{at}")
            elif not gone.isdisjoint(statement.symbols):
                made.append(_moved(statement))
            else:
                made.append(statement)
        return tuple(made)


def _copied(call, wrapper, names, mark) -> Iterator[syntax.Instruction]:
    """A wrapper's instructions in the place of a call. names: of the variables that pass numbers, and take results."""
    own = [[variable.name for variable in part] for part in (wrapper.parameters, wrapper.returns)]
    ours = dict(zip(own[0] + own[1], names[0] + names[1], strict=True))
    for statement in wrapper.body:
        if isinstance(statement, syntax.Label) or statement.opcode in ("ret", "bra"):
            continue
        renamed = syntax.mapped((statement.guard, *statement.operands), syntax.Register,
                                lambda register: replace(register, name=f"{register.name}@{mark}"))
        copied = replace(statement, guard=renamed[0], operands=renamed[1:], site=_called_at(call.site, statement.site))
        yield _moved(copied, ours) if not ours.keys().isdisjoint(statement.symbols) else copied


def _called_at(call, site):
    """The Site of an instruction that a call leads to."""
    if call is None or site is None:
        return call
    return replace(site, callers=(*site.callers, (call.file, call.line), *call.callers)[:_CALLERS])


def _moved(statement, names=None):
    """The `mov` that a `ld.param` or `st.param` of a whole number is, None of all else. names: {parameter: variable}."""
    plain = statement.opcode in ("ld", "st") and statement.modifiers[:-1] == ("param",)
    if not plain or statement.guard or len(statement.operands) != 2:
        return None
    address, value = statement.operands if statement.opcode == "st" else statement.operands[::-1]
    bits, base = syntax.BITS.get(statement.modifiers[-1]), getattr(address, "base", None)
    whole = isinstance(base, syntax.Symbol) and not address.offset and not base.offset
    if not whole or bits not in _MOVED or isinstance(value, syntax.Vector):
        return None
    passed = syntax.Register((names or {}).get(base.name, base.name), f"b{bits}")
    operands = (passed, value) if statement.opcode == "st" else (value, passed)
    return replace(statement, opcode="mov", modifiers=(f"b{bits}",), operands=operands)
