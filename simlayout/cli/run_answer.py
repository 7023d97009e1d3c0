"""What `simlayout run FILE.ptx` answers when a launch has ended: as text, or as what `--json` holds."""

import argparse
from dataclasses import dataclass
from typing import Any

from simlayout.cli.text import cut, field, fit
from simlayout.wording import by


def launch_of(entry, options):
    """What `--json` holds of a launch, also of one that raised a hazard."""
    block = options.block or entry.required_block
    return {"entry": entry.name, "grid": options.grid, "block": block, "shared_bytes": options.shared}


@dataclass(frozen=True)
class Answer:
    """What an answer is made of. entry: that ran; options: of the command; trace: a Trace; arrays: {name: its argument}.
    By names of arrays, changed: how many elements are not as before; wrong: how it differs from what was expected, "" if it
    does not; saved: the file that has it now. mends: what would mend the arrays whose declarations are known."""

    entry: Any
    options: argparse.Namespace
    trace: Any
    arrays: dict[str, Any]
    changed: dict[str, int]
    wrong: dict[str, str]
    saved: dict[str, str]
    mends: list[Any]

    def text(self):
        """The listing, what would mend it, and what became of the arrays."""
        return "\n".join([*self._head(), *self._listing(), *self._advice(), *self._outcome()])

    def _head(self):
        told = launch_of(self.entry, self.options)
        shape = f"grid {by(told['grid'])}, block {by(told['block'])}"
        return [field("entry", self.entry.called),
                field("launch", f"{shape}, {self.options.shared} bytes of dynamic shared memory"), ""]

    def _listing(self):
        of_ptx = self.options.lines == "ptx"
        listing = f"{self.trace.listing(self.options.lines != 'shared', ptx=of_ptx)}\n"
        listing += "" if of_ptx else _calls(self.entry, self.trace)
        return [cut(line) if line[:6].strip().isdigit() else fit(line) for line in listing.splitlines()]

    def _advice(self):
        """What is uncoalesced, and what would mend conflicts, or why nothing is proposed."""
        from simlayout.programs.device import Launched
        from simlayout.programs.report import UNDECLARED, Kernel, mend_lines, uncoalesced_lines

        told, kernel = launch_of(self.entry, self.options), Kernel(self.entry.called)
        kernel.add(Launched(self.entry.called, told["grid"], told["block"], self.options.shared, 0.0, self.trace))
        lines = []
        if wastes := uncoalesced_lines(kernel):
            lines += ["", *map(fit, wastes)]
        for mend in self.mends:
            lines += ["", *map(fit, mend_lines(mend))]
        excess = self.trace.total().excess
        if excess and {c.file for c in self.trace.lines} == {self.entry.module.syntax.path}:
            lines += ["", fit("no edit is proposed: this PTX does not name the lines of its source (nvcc -lineinfo)")]
        elif excess and not self.mends:
            lines += ["", fit(UNDECLARED)]
        return lines

    def _outcome(self):
        trace, arrays = self.trace, self.arrays
        counted = [f"{name} {n}" for name, n in trace.totals().items() if n]
        lines = ["", field("wavefronts", ", ".join(counted) or "none of loads and stores of shared memory")]
        for name, array in arrays.items():
            lines.append(field(str(name), _described(array.array, self.changed[name])))
        if arrays and not any(self.changed.values()) and not any(a.before.tobytes().strip(b"\0") for a in arrays.values()):
            lines.append(fit("all arrays held zeros, and still do: fill what the kernel reads, as in --arg "
                             "A=f32[64,64]:normal"))
        lines += [field("expected", f"{name}: {what or 'as expected'}") for name, what in self.wrong.items()]
        lines += [field("saved", f"{name}: {file}") for name, file in self.saved.items()]
        found = "not looked for" if self.options.hazards == "off" else "none"
        return [*lines, field("hazards", f"{len(trace.hazards)}, see above" if trace.hazards else found)]

    def as_dict(self):
        """What `--json` holds."""
        trace = self.trace
        return {**launch_of(self.entry, self.options),
                "lines": [line.as_dict() for line in trace.source_lines(ptx=self.options.lines == "ptx")],
                "accesses": accesses_of(self.entry, trace), "sectors": [vars(one) for one in trace.sectors],
                "totals": trace.totals(), "total": trace.total().as_dict(),
                "hazards": [h.as_dict() for h in trace.hazards],
                "mends": [mend.as_dict() for mend in self.mends], "notes": trace.notes, "unexpected": self.wrong,
                "saved": self.saved,
                "arrays": {name: {"dtype": str(a.array.dtype), "shape": a.array.shape, "changed": self.changed[name]}
                           for name, a in self.arrays.items()}}


def _described(array, changed):
    return f"{array.dtype} {list(array.shape)}, {changed} of {array.size} elements changed"


def accesses_of(entry, trace):
    """What `--json` holds of each access; callers: (file, line) of the calls that it was inlined at, the nearest first."""
    callers = _callers(entry)
    return [{**c.as_dict(), "callers": callers.get(c.ptx_line, ())} for c in trace.lines]


def _callers(entry):
    """{line of the PTX: calls that it was inlined at}."""
    bodies = (entry.module.syntax.functions[name].body for name in entry.functions)
    return {one.line: one.site.callers for body in bodies for one in body if getattr(one, "site", None) is not None}


def _calls(entry, trace):
    """The text of what inlined functions of other files cost, by the lines that call them; "" where there are none."""
    from simlayout.machine.engine.listing import SourceLine, line_text, rows, sums_of

    outermost = {line: calls[-1] for line, calls in _callers(entry).items() if calls}    # which the kernel itself makes
    called = [c for c in trace.lines if outermost.get(c.ptx_line, (c.file,))[0] != c.file]
    sums, blocks = sums_of(called, lambda c: outermost[c.ptx_line]), []
    for file in sorted({file for file, _ in sums}):
        lines = [SourceLine(*place, line_text(*place), 0, **sums[place]) for place in sorted(sums) if place[0] == file]
        blocks += ["", f"functions of other files, counted above, by the calls in {file}", *rows(lines)]
    return "\n".join(blocks)
