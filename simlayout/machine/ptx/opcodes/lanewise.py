"""Arithmetic and logic, lane by lane: gives the instructions that `lane_op` knows their rows."""

import re

from simlayout.errors import InstructionError, MachineError
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.opcodes.lanes import lane_op
from simlayout.machine.ptx.opcodes.rows import Lanewise

FLOOR = "sm_75"
"""The oldest architecture of the rows: they do not say which of what is before it lacks an instruction. A driver takes PTX
of any older .target."""


def bind_lanewise(instruction, names):
    """The step of a lane-wise instruction."""
    op = lane_op(instruction.opcode, instruction.modifiers)
    _check_target(instruction.name, op.target, names.lowering.module.target)
    operands = list(instruction.operands)
    results = _results(op, operands, names)
    types = _explicit(op.sources)
    if len(operands) != len(types):
        if instruction.opcode in ("min", "max") and len(operands) == 3 and types == ["f32", "f32"]:
            raise InstructionError("three sources need sm_100 or newer, and the machine is an sm_90: compile for sm_90a")
        raise MachineError(f"{len(operands)} sources; it takes {len(types)}")
    sources = [names.source(operand, type) for operand, type in zip(operands, types)]
    if "cc" in op.sources:
        sources.append(names.carry)
    return {"lanewise": Lanewise(instruction.name, op.function, tuple(results), tuple(sources))}


def _check_target(name, least, target):
    """Refuses what ptxas refuses because the module is for an older architecture."""
    if least != FLOOR and _number(least) > _number(target):
        raise InstructionError(f"{name} needs {least} or newer, and .target is {target}: compile for {target}, or write "
                               f".target {least}")


def _number(target):
    """90 of "sm_90a"."""
    return int(re.sub(r"\D", "", target) or 0)


def _explicit(types):
    return [type for type in types if type != "cc"]


def _results(op, operands, names):
    """Takes the destinations off the operands."""
    types, first = _explicit(op.results), operands.pop(0)
    if len(types) == 2:
        written = (first.first, first.second) if isinstance(first, syntax.Pair) else (first, syntax.SINK)
    elif isinstance(first, syntax.Pair):
        raise MachineError("it has one destination, and two are written")
    else:
        written = (first,)
    results = [names.result(operand, type) for operand, type in zip(written, types, strict=True)]
    return results + [names.carry] * ("cc" in op.results)


def computed(name, function, results, sources):
    """The step of arithmetic that is not in the tables of `lane_op`. results, sources: Places."""
    return {"lanewise": Lanewise(name, function, tuple(results), tuple(sources))}
