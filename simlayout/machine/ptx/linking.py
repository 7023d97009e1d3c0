"""Linking: one module of several, as a device linker makes it (CUDA C++ Programming Guide, separate compilation)."""

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from simlayout.errors import MachineError
from simlayout.machine.ptx import syntax

_STRENGTH = {"extern": 0, "common": 1, "weak": 2, "visible": 3, "": 3}
"""Which of several definitions of one name holds: the strongest; two of the strongest are too many."""


def link(modules: Sequence[syntax.Module]) -> syntax.Module:
    """One Module of several: names that a module shows others (.visible, .weak, .common) are one thing in all of them, the
    others are its own and renamed where they would meet. Its version, target and path are those of the first; lines of the
    others count on from the last line of those before. What is .weak and that nothing uses is left out.

    Raises MachineError where two modules define one name.

    >>> from simlayout.machine.ptx.grammar import parse
    >>> head = ".version 9.0 .target sm_90 "
    >>> caller = parse(head + ".extern .func f; .visible .entry k() { call f; }")
    >>> callee = parse(head + ".visible .func f { ret; }")
    >>> link([caller, callee]).functions["f"].body is None
    False
    """
    first, *others = modules
    if not others:
        return first
    linking = _Linking()
    for number, module in enumerate(modules):
        linking.add(module, number)
    variables, functions = linking.used()
    return replace(first, files={}, variables=variables, functions=functions,
                   aliases={name: to for module in modules for name, to in module.aliases.items()})


class _Linking:
    def __init__(self):
        self.variables: dict[str, syntax.Variable] = {}
        self.functions: dict[str, syntax.Function] = {}
        self._lines = 0

    def add(self, module: syntax.Module, number: int) -> None:
        """Takes what a module defines and declares."""
        own = {name: f"{name}${number}" for name, each in (module.variables | module.functions).items()
               if each.linkage == "" and not getattr(each, "entry", False) and self._has(name)}
        for name, function in module.functions.items():
            if own or self._lines:
                function = self._moved(function, own)
            self._take(self.functions, own.get(name, name), replace(function, name=own.get(name, name)))
        for name, variable in module.variables.items():
            relocations = tuple(replace(r, symbol=own.get(r.symbol, r.symbol)) for r in variable.relocations)
            variable = replace(variable, name=own.get(name, name), relocations=relocations)
            self._take(self.variables, variable.name, variable)
        self._lines += max((each.line for function in module.functions.values() for each in function.body or ()), default=0)

    def _has(self, name):
        return name in self.variables or name in self.functions

    def _take(self, known, name, new):
        """The stronger one of two definitions of a name."""
        before = known.get(name)
        if before is None:
            known[name] = new
            return
        strength, other = (_strength(each) for each in (new, before))
        if strength == other == 3:
            raise MachineError(f"{name} is defined twice by what is linked: define it in one of the sources, or as weak")
        if strength > other:
            known[name] = new

    def _moved(self, function, own):
        """A function whose lines follow those before, and that uses a module's own names by what they are called now."""
        at, body = self._lines, None
        if function.body is not None:
            renamed = _renamer({name: to for name, to in own.items() if name not in function.variables})
            body = tuple(replace(each, line=each.line + at) if isinstance(each, syntax.Label) else
                         replace(each, line=each.line + at, operands=renamed(each.operands)) for each in function.body)
        tables = {name: tuple(own.get(each, each) for each in table) if isinstance(table, tuple) else table
                  for name, table in function.tables.items()}
        return replace(function, body=body, line=function.line + at, tables=tables)

    def used(self) -> tuple[dict[str, syntax.Variable], dict[str, syntax.Function]]:
        """All variables and functions, but for weak ones that nothing uses."""
        named = {name for name, each in (self.variables | self.functions).items() if each.linkage not in ("weak", "extern")}
        todo = list(named)
        while todo:
            name = todo.pop()
            for each in (self.variables.get(name), self.functions.get(name)):
                new = set() if each is None else _names_in(each) - named
                named |= new
                todo += new
        return tuple({name: each for name, each in known.items() if name in named}    # type: ignore[return-value]
                     for known in (self.variables, self.functions))


def _strength(each):
    declared = isinstance(each, syntax.Function) and each.body is None
    return 0 if declared else _STRENGTH[each.linkage]


def _names_in(each):
    """The symbols that a variable's initial value, or a function's body and tables, name."""
    if isinstance(each, syntax.Variable):
        return {r.symbol for r in each.relocations}
    found: set[str] = {name for table in each.tables.values() if isinstance(table, tuple) for name in table}

    def note(symbol: syntax.Symbol) -> syntax.Symbol:
        found.add(symbol.name)
        return symbol

    for statement in each.body or ():
        if isinstance(statement, syntax.Instruction):
            _mapped(statement.operands, note)
    return found


def _renamer(own: dict[str, str]) -> Callable[[tuple], tuple]:
    if not own:
        return lambda operands: operands
    return lambda operands: _mapped(operands, lambda symbol: replace(symbol, name=own.get(symbol.name, symbol.name)))


def _mapped(operand: Any, of: Callable[[syntax.Symbol], syntax.Symbol]) -> Any:
    """An operand, or a tuple of them, with another one for each Symbol in it."""
    if isinstance(operand, syntax.Symbol):
        return of(operand)
    if isinstance(operand, tuple):
        return tuple(_mapped(each, of) for each in operand)
    if isinstance(operand, syntax.Register) or not is_dataclass(operand):
        return operand
    parts = {field.name: getattr(operand, field.name) for field in fields(operand)}
    new = {name: _mapped(part, of) for name, part in parts.items()}
    return operand if all(new[name] is parts[name] for name in parts) else replace(operand, **new)   # type: ignore[type-var]
