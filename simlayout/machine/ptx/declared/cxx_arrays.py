"""The arrays in shared memory of a kernel of CUDA C++, as its source declares them."""

import linecache
from collections.abc import Iterator
from typing import Any

import numpy as np

from simlayout.machine.arithmetic.carriers import width_of
from simlayout.machine.engine.listing import line_text
from simlayout.machine.engine.trace import Trace
from simlayout.machine.ptx.declared.cxx_declarations import CxxDeclaration, declarations, symbol_name
from simlayout.machine.ptx.declared.shared_arrays import DYNAMIC, SharedArray
from simlayout.machine.ptx.syntax import Instruction, Integer

_WHOLE = {"wgmma", "tcgen05", "cp.async.bulk", "cp.reduce"}
"""What takes a tile of shared memory by its address: its rows lie as the instruction wants them."""

WHOLE = "wgmma or TMA takes tiles of it as they are"

COPIES = "copies by cp.async are not in these numbers"

MATRIX_ROW = 16
"""Bytes of a row that ldmatrix, stmatrix and wmma move, and to which it has to be aligned (PTX ISA, ldmatrix)."""


def arrays_of(entry: Any, trace: Trace | None, dynamic_bytes: int) -> tuple[SharedArray, ...]:
    """The SharedArrays of a launch of an Entry, as its library tells them, or as its source in CUDA C++ does. trace: None of
    one that did not end."""
    told = tuple(SharedArray(symbol, *placed, *entry.module.declared.get(symbol, ()))
                 for symbol, placed in entry.shared_variables.items())
    return told if any(one.file for one in told) else cxx_arrays(entry, trace, dynamic_bytes) or told


def cxx_arrays(entry: Any, trace: Trace | None, dynamic_bytes: int) -> tuple[SharedArray, ...]:
    """The SharedArrays of a launch, with file, line and shape where its source tells them: of arrays that are declared with
    a size, and of one `extern` array of the dynamic_bytes that the launch gives. trace: as of `arrays_of`.
    """
    if not entry.static_shared and not dynamic_bytes:
        return ()
    instructions = {one.line: one for one in _instructions(entry)}
    whole = any(one.name.startswith(tuple(_WHOLE)) for one in instructions.values())
    copied = max((_copied(one) for one in instructions.values()), default=1)
    executed: dict[str, set[int]] = {}
    for file, line in (step.site for step in entry.program.steps) if trace is None else trace.executed:
        executed.setdefault(file, set()).add(line)
    placed = dict(entry.shared_variables)
    variables = {**entry.module.syntax.variables, **entry.function.variables}
    extern = [name for name, one in variables.items() if one.space == "shared" and one.extern]
    if entry.has_dynamic_shared and len(extern) == 1:
        placed[extern[0]] = entry.program.dynamic_at, dynamic_bytes
    made = []
    for symbol, (offset, nbytes) in placed.items():
        file, declared = _declared(symbol_name(symbol), executed)
        shape = declared.shape(nbytes, _arguments(entry.called)) if declared is not None else ()
        untold = WHOLE * whole or _untold(declared, executed, symbol in extern)
        made.append(SharedArray(symbol, offset, nbytes, untold=untold))
        if declared is not None and shape:
            aligned = max([copied, *_widths(offset, nbytes, trace, instructions)])
            unseen = COPIES if copied > 1 else ""
            made[-1] = SharedArray(symbol, offset, nbytes, file, declared.line, shape, aligned, unseen, WHOLE * whole)
    return tuple(made)


def _untold(declared, executed, dynamic):
    """Why the shape of an array is not known."""
    if declared is not None:
        return f"its size on line {declared.line} is not plain: {''.join(f'[{n}]' for n in declared.dimensions)}"
    if dynamic:
        return DYNAMIC
    at_hand = any(line_text(file, min(lines)) for file, lines in executed.items())
    return "no line of the source declares it" if at_hand else "its source is not at hand"


def _instructions(entry) -> Iterator[Instruction]:
    for name in entry.functions:
        yield from (one for one in entry.module.syntax.functions[name].body or () if isinstance(one, Instruction))


def _arguments(called):
    """Of a kernel's template, as text; called: its name.

    >>> _arguments("Of<int>::sums<Pair<int, float>, 32>"), _arguments("copy")
    (('Pair<int, float>', '32'), ())
    """
    made, depth = [""], 0
    for one in called.removesuffix(">"):
        if one == "<" and depth == 0:
            made = [""]
        elif one == "," and depth == 1:
            made.append("")
        else:
            made[-1] += one
        depth += (one in "<(") - (one in ">)")
    return tuple(map(str.strip, made)) if called.endswith(">") else ()


def _declared(name, executed):
    """(file, CxxDeclaration) of the one array of a name whose block has lines that were executed; ("", None) else."""
    found: list[tuple[str, CxxDeclaration]] = []
    for file, lines in executed.items():
        if not file.endswith(".py") and line_text(file, min(lines)):
            linecache.checkcache(file)                   # a name may mean another file by now
            found += [(file, one) for one in declarations("".join(linecache.getlines(file)))
                      if one.name == name and not lines.isdisjoint(one.lines())]
    return found[0] if len(found) == 1 else ("", None)


def _widths(offset, nbytes, trace, instructions):
    """Bytes that the instructions access at once which touched an array."""
    for seen in () if trace is None else trace.patterns:
        inside = seen.active & (seen.addresses >= offset) & (seen.addresses < offset + nbytes)
        if np.any(inside) and seen.ptx_line in instructions:
            yield _width(instructions[seen.ptx_line])


def _width(instruction):
    if instruction.opcode in ("ldmatrix", "stmatrix", "wmma"):
        return MATRIX_ROW
    if instruction.opcode not in ("ld", "st"):
        return 1
    return instruction.count * width_of(instruction.modifiers[-1]) // 8


def _copied(instruction):
    """Bytes of a cp.async; 1 of all else."""
    if not instruction.name.startswith("cp.async.c") or len(instruction.operands) < 3:
        return 1
    size = instruction.operands[2]
    return size.value if isinstance(size, Integer) else 1
