"""Arithmetic and logic, lane by lane: binds what `lane_op` knows to rows."""

import numpy as np

from simlayout.errors import MachineError
from simlayout.machine.ptx import syntax


def bind_lanewise(instruction, names):
    """The step of a lane-wise instruction."""
    from simlayout.machine.ptx.opcodes.lanes import lane_op

    op = lane_op(instruction.opcode, instruction.modifiers)
    operands = list(instruction.operands)
    results = _results(op, operands, names)
    sources = [_source(operand, type, names) for operand, type in zip(operands, _explicit(op.sources), strict=False)]
    if len(operands) != len(_explicit(op.sources)):
        raise MachineError(f"{len(instruction.operands)} operands; it takes {len(_explicit(op.results))} and "
                           f"{len(_explicit(op.sources))}")
    if "cc" in op.sources:
        sources.append((names.carry, lambda row: row))
    return {"lanewise": step(op.function, results, sources)}


def _explicit(types):
    return [type for type in types if type != "cc"]


def _results(op, operands, names):
    """Takes the destinations off the operands: [(row or None, what makes bits)]."""
    types = _explicit(op.results)
    first = operands.pop(0)
    if len(types) == 2:
        written = (first.first, first.second) if isinstance(first, syntax.Pair) else (first, syntax.SINK)
    elif isinstance(first, syntax.Pair):
        raise MachineError("it has one destination, and two are written")
    else:
        written = (first,)
    made = [names.result(operand, type) for operand, type in zip(written, types, strict=True)]
    if "cc" in op.results:
        made.append((names.carry, lambda value: value))
    return made


def _source(operand, type, names):
    if isinstance(operand, syntax.Negated):
        row, read = names.source(operand.register, type)
        return row, lambda values: read(values) ^ np.uint64(1)
    return names.source(operand, type)


def step(function, results, sources):
    """What executes it: called with rows and a mask (None: all lanes)."""
    if len(results) == 1:
        (target, make), = results
        if target is None:
            return lambda rows, mask: None
        if len(sources) == 1:
            (a, read_a), = sources
            return lambda rows, mask: _put(rows[target], make(function(read_a(rows[a]))), mask)
        if len(sources) == 2:
            (a, read_a), (b, read_b) = sources
            return lambda rows, mask: _put(rows[target], make(function(read_a(rows[a]), read_b(rows[b]))), mask)
        return lambda rows, mask: _put(rows[target], make(function(*[read(rows[r]) for r, read in sources])), mask)

    def several(rows, mask):
        values = function(*[read(rows[r]) for r, read in sources])
        for target, bits in [(target, make(value)) for (target, make), value in zip(results, values)]:
            if target is not None:
                _put(rows[target], bits, mask)

    return several


def _put(row, bits, mask):
    if mask is None:
        row[:] = bits
    else:
        np.copyto(row, bits, where=mask, casting="unsafe")
