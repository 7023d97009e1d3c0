"""run: an entry of PTX text on arrays from the command line: its listing, its hazards, what it wrote."""

import argparse
import os
import re
import shlex
import sys
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from simlayout.cli.fills import FILLS, array_of, given, related
from simlayout.cli.map_text import FORM
from simlayout.cli.options import add, integer
from simlayout.cli.text import cut, field, fit, tell
from simlayout.errors import HazardError, SimlayoutError
from simlayout.files import STDIO, check_folder, check_writable, make_folder, write_whole
from simlayout.progress import progress
from simlayout.wording import are, by, counted

NOTES = f"""
    Of PTX: that of any compiler, nvcc -ptx -lineinfo, Triton's .asm["ptx"], numba.cuda.compile_ptx. Each parameter of the
    entry takes one --arg, in their order (`simlayout ptx FILE` lists them): NAME=TYPE[SHAPE]:FILL for an array, a number
    for a scalar, null for a null pointer, {FORM} for a tensor map.
    A struct takes hex: and its bytes, or its fields, of which an array is a pointer to it and numbers have types:
    V={{x=f32[64]:normal, s32:64, f32:0.5}}. So does a tensor of CuTe DSL, {{A=f16[64,64]:normal}}.
    FILL is one of {', '.join(FILLS)} (default: zeros);
    NAME=FILE.npy takes type and shape from the file. Types are f16, bf16, f32, f64, e4m3, s8 to s64, u8 to u64, bool,
    complex64.

    The ARRAY of a tensor map is written as any other, A=map(f16[256,64]:normal, box=64x128), or is the name of an argument
    that has one, map(A, box=64x64). The box is told innermost dimension first; swizzle=32B, 64B or 128B (default: none),
    fill=nan (default: zero) and type=tf32 (default: that of the array) may follow, as of simlayout.TensorMap.of.

    The listing has the source lines that the PTX names, with the warp instructions executed there, and wavefronts, ideal and
    excess of shared memory. The exit code is 1 if there are hazards, with --strict also excess, or an array is not
    as --expect says.
    """


def add_options(group):
    """Adds the options that only PTX takes to a group of a parser; returns their names."""
    known = list(group._group_actions)
    group.add_argument("--entry", metavar="NAME", help="of the kernel, or a part of it (default: the only one)")
    group.add_argument("--grid", type=sizes, default=(1,), metavar="X,Y,Z", help="CTAs (default: 1)")
    group.add_argument("--block", type=sizes, metavar="X,Y,Z", help="threads of a CTA (default: what the kernel requires)")
    group.add_argument("--shared", type=integer(0), default=0, metavar="BYTES", help="dynamic shared memory (default: 0)")
    group.add_argument("--arg", action="append", default=[], metavar="ARGUMENT", help="of the kernel, see below")
    group.add_argument("--variable", action="append", default=[], metavar="NAME=ARRAY",
                       help="what a __constant__ or __device__ variable holds, written as an --arg")
    group.add_argument("--expect", action="append", type=named_file, default=[], metavar="NAME=FILE.npy",
                       help="what an array should hold afterwards")
    group.add_argument("--tolerance", type=tolerance, default=0.0, metavar="T",
                       help="of --expect, relative and absolute (default: 0, the same values)")
    group.add_argument("--save", action="append", default=[], metavar="DIR",
                       help="write what the kernel changed to DIR/NAME.npy; or one array by NAME=FILE.npy")
    group.add_argument("--cluster", type=sizes, default=(1,), metavar="X,Y,Z", help="CTAs of a cluster (default: 1)")
    add(group, "--limit", of="run", default=None)
    add(group, "--lines", of="run", choices=("all", "shared", "ptx"))
    add(group, "--seed")
    return [action for action in group._group_actions if action not in known]


# ---- values ------------------------------------------------------------------------------------------------------------

def sizes(text):
    """"2,2" -> (2, 2)."""
    if not re.fullmatch("[0-9]{1,12}(?:,[0-9]{1,12}){0,2}", text, re.ASCII) or "0" in text.split(","):
        raise argparse.ArgumentTypeError(f"{text!r}: write one to three positive integers, as in 32,8")
    return tuple(map(int, text.split(",")))


def named_file(text):
    """"C=FILE.npy" -> ("C", "FILE.npy")."""
    found = re.fullmatch(r"([A-Za-z_]\w{0,60})=(.+\.npy)", text, re.ASCII)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r}: write NAME=FILE.npy, NAME that of an --arg")
    return found[1], found[2]


def tolerance(text):
    """A number from 0 to 1."""
    if not re.fullmatch(r"[0-9]?\.?[0-9]{1,20}(?:e-[0-9]{1,3})?", text, re.ASCII) or float(text) > 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")
    return float(text)


# ---- the command -------------------------------------------------------------------------------------------------------

def run(options):
    """`simlayout run FILE.ptx`: the exit code is as in NOTES."""
    from simlayout import ptx

    module = ptx.read(source_of(options.file))
    entry = module[options.entry] if options.entry is not None else _only(module)
    entry.check()
    given_ones = [given(text, np.random.default_rng([options.seed, i])) for i, text in enumerate(options.arg)]
    arguments = related(_named(entry, given_ones))
    _check_number(entry, arguments)
    variables = [_variable(module, text, np.random.default_rng([options.seed, i]))
                 for i, text in enumerate(options.variable, len(given_ones))]
    arrays = {a.name: a for argument in (*arguments, *variables) for a in argument.all() if a.array is not None}
    expected = {name: _expected(arrays, name, file) for name, file in options.expect}
    targets = _targets(options.save, arrays)
    try:
        trace = _executed(entry, options, [a.passed for a in arguments])
    except HazardError as error:
        told = {**_launch(entry, options), "hazards": [one.as_dict() for one in (*error.before, error.hazard)]}
        tell(options.json, told, field("hazard", error))
        return 1
    changed = {name: _changed(a) for name, a in arrays.items()}
    wrong = {name: difference(arrays[name].array, wanted, options.tolerance) for name, wanted in expected.items()}
    answer = _Answer(entry, options, trace, arrays, changed, wrong, _save(targets, arrays, changed),
                    _mends(entry, options, trace))
    tell(options.json, answer.as_dict, answer.text)
    return int(bool(trace.hazards or any(wrong.values()) or options.strict and trace.total().excess))


def _only(module):
    """The entry of a module that has one."""
    from simlayout.machine.ptx.cxx.names import cxx_names

    names = list(cxx_names(module.entries).values())
    if len(names) > 1:
        raise SimlayoutError(f"{module.syntax.path} has {len(names)} entries: choose one with --entry, as in --entry "
                             f"{shlex.quote(names[0])}; there are {', '.join(names)}")
    return module.entry()


def _check_number(entry, given):
    """SimlayoutError if there is not an --arg for each parameter."""
    if len(given) != len(entry.parameters):
        raise SimlayoutError(f"{entry.called} takes {counted(len(entry.parameters), 'argument')} "
                             f"({', '.join(map(entry.described, entry.parameters))}), and {len(given)} {are(len(given))} "
                             "given: give an --arg for each, in this order, as in --arg A=f32[64,64]:normal for a pointer "
                             "and --arg 64 for a number")


def source_of(given: str) -> str | Path:
    """What `simlayout.ptx.load` takes, of FILE: the path, or the text that stdin had. SimlayoutError for a folder, and for
    an empty text."""
    if not given:
        raise SimlayoutError("stdin held nothing, or the name of the file is empty: PTX begins with '.version'")
    if "\n" in given:
        return given
    if os.path.isdir(given):
        raise SimlayoutError(f"{given} is a folder: name a file in it, of PTX, or for `simlayout run` a program, FILE.py")
    return Path(given)


def _named(entry, arguments):
    """The arguments, each with a name: its own, or the parameter's."""
    for argument, parameter in zip(arguments, entry.parameters):
        if argument.name is None:
            argument.name = re.sub(r"\W", "_", parameter.name.removeprefix(f"{entry.name}_"))
    for i, inner in enumerate(a for argument in arguments for one in argument.fields for a in one.all()):
        if inner.name is None and inner.array is not None:
            inner.name = f"field_{i}"
    names = [a.name for argument in arguments for a in argument.all() if a.name is not None]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise SimlayoutError(f"--arg: two arguments are called {twice[0]}: give each its own name")
    return arguments


def _variable(module, text, generator):
    """A variable of a module, whose memory now holds what a text says, as an argument."""
    made = given(text, generator, "--variable")
    if made.name is None or made.array is None:
        raise SimlayoutError(f"--variable {text}: write NAME=TYPE[SHAPE]:FILL, or NAME=FILE.npy")
    memory = module.variable(made.name)
    if memory.nbytes != made.array.nbytes:
        raise SimlayoutError(f"--variable {text}: {made.name} has {counted(memory.nbytes, 'byte')}, and these are "
                             f"{made.array.nbytes}")
    memory[:] = np.ascontiguousarray(made.array).reshape(-1).view(np.uint8)
    made.array = memory.view(made.array.dtype).reshape(made.array.shape)
    return made


def _array(arrays, name, option):
    if name not in arrays:
        raise SimlayoutError(f"{option}: no array is called {name}; there are {', '.join(map(str, arrays)) or 'none'}")
    return arrays[name].array


def _expected(arrays, name, file):
    value = _array(arrays, name, f"--expect {name}")
    return array_of(file, value.dtype, value.shape)


def _targets(save, arrays):
    """{name or None (all that is changed): file or folder}, each of which can be written."""
    made = {}
    for text in save:
        name, found, file = text.partition("=")
        if text.endswith(".npy") and not found:
            raise SimlayoutError(f"--save {text}: write NAME={text}, NAME that of an --arg, or a folder")
        if found:
            name, file = named_file(text) if file.endswith(".npy") else (name, file)
            if not file.endswith(".npy"):
                raise SimlayoutError(f"--save {text}: write NAME=FILE.npy, or a folder")
            _array(arrays, name, f"--save {text}")
            check_writable(file)
            made[name] = file
        else:
            check_folder(text)
            made[None] = text
    return made


def _executed(entry, options, values):
    from simlayout.ptx import LIMIT

    block = options.block or entry.required_block
    if block is None:
        raise SimlayoutError(f"{entry.called} does not tell its block: give --block, as in --block 256 or --block 32,8")
    quiet = redirect_stdout(sys.stderr) if options.json == STDIO else nullcontext()      # what printf of the kernel prints
    with quiet, progress("CTAs") as moved:
        return entry.run(options.grid, block, *values, shared_bytes=options.shared, cluster=options.cluster,
                         hazards=options.hazards, progress=moved, together=options.together, arch=options.arch,
                         limit=options.limit or LIMIT)


def _mends(entry, options, trace):
    """What would mend the arrays whose declarations are known."""
    from simlayout.programs.mend import mends
    from simlayout.programs.uses import Uses

    uses = Uses()
    uses.add(trace, entry.called)
    return mends(uses, options.arch or entry.module.arch)


def _changed(argument):
    """How many elements are not as they were; NaN stays NaN by its bits."""
    before, after = (np.ascontiguousarray(x).view(np.uint8).reshape(x.size, x.itemsize)
                     for x in (argument.before, argument.array))
    return int((before != after).any(axis=1).sum())


def difference(found: np.ndarray, wanted: np.ndarray, tolerance: float) -> str:
    """How an array differs from what was expected, as a sentence; "" if it does not. NaN is equal to NaN.

    >>> difference(np.array([1.0, 2.0]), np.array([1.0, 2.5]), 0.0)
    '1 of 2 elements differ; the first is [1]: 2.0, expected 2.5'
    >>> difference(np.array([1.0, 2.0]), np.array([1.0, 2.5]), 0.5)
    ''
    """
    if found.dtype.kind in "biu" or found.dtype.type is np.void:
        off = found != wanted
    else:
        numbers = complex if found.dtype.kind == "c" else float
        off = ~np.isclose(found.astype(numbers), wanted.astype(numbers), tolerance, tolerance, equal_nan=True)
    if not off.any():
        return ""
    first = tuple(np.argwhere(off)[0].tolist())
    return (f"{int(off.sum())} of {off.size} elements differ; the first is {list(first)}: {found[first]}, "
            f"expected {wanted[first]}")


def _save(targets, arrays, changed):
    """Writes arrays, each whole or not at all; {name: file}."""
    files = {}
    if None in targets:
        make_folder(targets[None])
        files = {name: os.path.join(targets[None], f"{name}.npy") for name, count in changed.items() if count}
    files |= {name: file for name, file in targets.items() if name is not None}
    for name, file in files.items():
        made = BytesIO()
        np.save(made, arrays[name].array, allow_pickle=False)
        write_whole(file, made.getvalue())
    return files


# ---- the answer --------------------------------------------------------------------------------------------------------

def _launch(entry, options):
    """What `--json` holds of a launch, also of one that raised a hazard."""
    block = options.block or entry.required_block
    return {"entry": entry.name, "grid": options.grid, "block": block, "shared_bytes": options.shared}


@dataclass(frozen=True)
class _Answer:
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
        told = _launch(self.entry, self.options)
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

        told, kernel = _launch(self.entry, self.options), Kernel(self.entry.called)
        kernel.add(Launched(self.entry.called, told["grid"], told["block"], self.options.shared, 0.0, self.trace))
        lines = []
        if wastes := uncoalesced_lines(kernel):
            lines += ["", *map(fit, wastes)]
        excess = self.trace.total().excess
        if excess and {c.file for c in self.trace.lines} == {self.entry.module.syntax.path}:
            return [*lines, "", fit("no edit is proposed: this PTX does not name the lines of its source (nvcc -lineinfo)")]
        for mend in self.mends:
            lines += ["", *map(fit, mend_lines(mend))]
        return lines if self.mends or not excess else [*lines, "", fit(UNDECLARED)]

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
        return {**_launch(self.entry, self.options),
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
