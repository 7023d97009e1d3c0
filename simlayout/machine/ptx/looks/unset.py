"""Whether what a launch does depends on registers that nothing has written (`passes.unset`): it is executed again with other
words in them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from simlayout.errors import SimlayoutError
from simlayout.machine.engine.trace import Trace
from simlayout.machine.hazards.kinds import Hazard, Place, hazard, located
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.looks.doubts import Before
from simlayout.machine.ptx.lowering.lower import Lowering
from simlayout.machine.ptx.passes.flow import without_marks
from simlayout.machine.ptx.passes.unset import filled, unset

FILLS = 0xFFFFFFFF, 0x3FC01234
"""Words that are tried there, beside zero: -1 or NaN, and a float of 1.5 or so."""

MOST = 1 << 22
"""Instructions of a launch that is executed again."""

MOST_TOLD = 8
"""Registers of which each is tried alone."""

KIND = "unwritten register"


class Unset:
    """The registers of an entry that may be read where nothing has written them. module: a syntax.Module; names: of the
    functions that the entry may call, itself first; addresses: as of a Lowering."""

    def __init__(self, module: syntax.Module, names: tuple[str, ...], addresses: dict):
        self._module, self._entry, self._addresses = module, names[0], addresses
        self._programs: dict[Any, Any] = {}
        found = {name: unset(without_marks(module.functions[name])) for name in names}
        self.readers = {(name, one): readers for name, of in found.items() for one, readers in of.items()}

    def program(self, chosen: frozenset) -> Any:
        """The Program in which some of them, (name of a function, Register), are `passes.unset.HELD`."""
        if chosen not in self._programs:
            functions = {name: filled(self._module.functions[name], {one for of, one in chosen if of == name})
                         for name in {name for name, _ in chosen}}
            module = replace(self._module, functions=self._module.functions | functions)
            self._programs[chosen] = Lowering(module, self._entry, self._addresses).program
        return self._programs[chosen]

    def hazard(self, one: Any, trace: Trace) -> Hazard:
        """That of the first reader of one of them that a launch has executed."""
        readers, (_, register) = self.readers[one], one
        places = [((at.site.file, at.site.line), at.site.callers) if at.site else ((self._module.path, at.line), ())
                  for at in readers]
        first = next((at for at, (site, _) in enumerate(places) if trace.executed.get(site)), 0)
        (site, callers), name = places[first], readers[first].name
        what = (f"{name} ({located(*site, callers)}) reads {register.name}, which nothing has written on the way there, and "
                "what the launch does depends on what it holds")
        return hazard(KIND, None, Place(*site, name, (0, 0, 0), 0, (), callers), what=what)


def told(of: Unset, trace: Trace, before: Before, run: Callable[[Any, int, int], Any]) -> tuple[Hazard, ...]:
    """A Hazard for each line at which a launch first reads such a register, if what it does depends on what that holds.

    trace: of the launch; before: what memory held before it, which then holds again what it does now; run: called with a
    Program, the word that is in those registers, and most instructions of a warp, executes the launch.
    """
    executed = sum(trace.executed.values())
    if not before.complete or executed > MOST:
        return ()
    after = [data.copy() for data, _ in before.kept]

    def outcome(chosen, fill):
        before.give_back()
        program = of.program(chosen)
        run(program, fill, 2 * executed + 4096)
        return [program.executed.tolist(), *(data.tobytes() for data, _ in before.kept)]

    def depends(chosen):
        zero = outcome(chosen, 0)
        for fill in FILLS:
            try:
                if outcome(chosen, fill) != zero:
                    return True
            except SimlayoutError:
                return True
        return False

    found: list[Any] = []
    try:
        if depends(frozenset(of.readers)):
            alone = [one for one in list(of.readers)[:MOST_TOLD] if depends(frozenset([one]))]
            found = alone or list(of.readers)[:1]
    except SimlayoutError:                               # as it does with zero there too
        pass
    for (data, _), held in zip(before.kept, after):
        data[:] = held
    return tuple({one.lines: one for one in (of.hazard(one, trace) for one in found)}.values())
