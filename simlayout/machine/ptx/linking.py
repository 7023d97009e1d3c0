"""Linking: one module of several, as a device linker makes it (CUDA C++ Programming Guide, separate compilation)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from simlayout.errors import MachineError
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.opcodes.control import LOOSE

_STRENGTH = {"extern": 0, "common": 1, "weak": 2, "visible": 3, "": 3}
"""Which of several definitions of one name holds: the strongest; two of the strongest are too many."""


def link(modules: Sequence[syntax.Module]) -> syntax.Module:
    """One Module of several: names that a module shows others (.visible, .weak, .common) are one thing in all of them, the
    others are its own and renamed where they would meet. Its version, target and path are those of the first; lines of the
    others count on from the last line of those before. What no kernel and no visible variable needs is left out.

    Raises MachineError where two modules define one name.

    >>> from simlayout.machine.ptx.parser.grammar import parse
    >>> head = ".version 9.0 .target sm_90 "
    >>> caller = parse(head + ".extern .func f; .visible .entry k() { call f; }")
    >>> callee = parse(head + ".visible .func f { ret; } .visible .func g { ret; }")
    >>> list(link([caller, callee]).functions)
    ['f', 'k']
    """
    first, *others = modules
    if not others:
        return first
    known: dict[str, _Found] = {}
    line = 0
    for number, module in enumerate(modules):
        _add(known, module, number, line)
        line += _last_line(module)
    needed = _needed(known)
    used = {name: known[name].linked() for name in sorted(needed)}
    return replace(first, files={}, aliases={name: to for module in modules for name, to in module.aliases.items()},
                   variables={name: each for name, each in used.items() if isinstance(each, syntax.Variable)},
                   functions={name: each for name, each in used.items() if isinstance(each, syntax.Function)})


@dataclass(frozen=True)
class _Found:
    """What a name means: a variable or function as its module has it; own: what that module's names are called now; line:
    how many lines come before the module."""

    what: syntax.Variable | syntax.Function
    own: dict[str, str]
    line: int

    def needs(self):
        """The names that it needs, as they are called now."""
        return {self.own.get(name, name) for name in _names_in(self.what)}

    def linked(self):
        """The same as a part of the linked module."""
        what, own = self.what, self.own
        name = own.get(what.name, what.name)
        if isinstance(what, syntax.Variable):
            relocations = tuple(replace(r, symbol=own.get(r.symbol, r.symbol)) for r in what.relocations)
            return replace(what, name=name, relocations=relocations)
        tables = {key: tuple(own.get(each, each) for each in table) if isinstance(table, tuple) else table
                  for key, table in what.tables.items()}
        return replace(what, name=name, tables=tables, line=what.line + self.line, body=self._body())

    def _body(self):
        body, line = self.what.body, self.line
        if body is None or not line and not self.own:
            return body
        renamed = _renamer({name: to for name, to in self.own.items() if name not in self.what.variables})
        return tuple(replace(each, line=each.line + line) if isinstance(each, syntax.Label) else
                     replace(each, line=each.line + line, operands=renamed(each.operands)) for each in body)


def _add(known, module, number, line):
    """Enters what a module defines and declares."""
    own = {name: f"{name}${number}" for name, each in (module.variables | module.functions).items()
           if each.linkage == "" and not getattr(each, "entry", False) and name in known}
    for name, what in (module.functions | module.variables).items():
        name = own.get(name, name)
        before = _strength(known[name].what) if name in known else -1
        if name in known and _results(what) != _results(known[name].what):
            what = _loose(what)
            known[name] = replace(known[name], what=_loose(known[name].what))
        found, strength = _Found(what, own, line), _strength(what)
        if strength == before == 3:
            raise MachineError(f"{name} is defined twice by what is linked: define it in one of the sources, or as weak")
        if strength > before:
            known[name] = found


def _results(what):
    return len(getattr(what, "returns", ()))


def _loose(what):
    """A function that another module declares with other results: a linker does not look at them."""
    return replace(what, directives=what.directives | {LOOSE: ()}) if isinstance(what, syntax.Function) else what


def _last_line(module):
    return max((each.line for function in module.functions.values() for each in (function.body or ())[-1:]), default=0)


def _needed(known):
    """The names of kernels and visible variables, and of all that these need."""
    todo = [name for name, found in known.items() if getattr(found.what, "entry", False)
            or isinstance(found.what, syntax.Variable) and found.what.linkage in ("visible", "common")]
    needed = set(todo)
    while todo:
        new = {name for name in known[todo.pop()].needs() if name in known} - needed
        needed |= new
        todo += new
    return needed


def _strength(each):
    declared = isinstance(each, syntax.Function) and each.body is None
    return 0 if declared else _STRENGTH[each.linkage]


def _names_in(each):
    """The symbols that a variable's initial value, or a function's body and tables, name."""
    if isinstance(each, syntax.Variable):
        return {r.symbol for r in each.relocations}
    tables = {name for table in each.tables.values() if isinstance(table, tuple) for name in table}
    return tables.union(*(statement.symbols for statement in each.body or ()))


def _renamer(own: dict[str, str]) -> Callable[[tuple], tuple]:
    if not own:
        return lambda operands: operands
    return lambda operands: syntax.mapped(operands, syntax.Symbol,
                                          lambda symbol: replace(symbol, name=own.get(symbol.name, symbol.name)))

