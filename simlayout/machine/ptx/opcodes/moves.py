"""mov, cvta and their like: values that move between registers, vectors taken apart and put together."""

import numpy as np

from simlayout.errors import MachineError
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.opcodes.lanewise import step
from simlayout.machine.ptx.program import CLOCKS
from simlayout.machine.ptx.rows import WIDTHS
from simlayout.machine.ptx.space import LOCAL, PARAMETERS, SHARED, WINDOW

_WINDOWS = {"shared": SHARED, "shared::cta": SHARED, "shared::cluster": SHARED, "local": LOCAL, "param": PARAMETERS,
            "param::entry": PARAMETERS, "global": 0, "const": 0}


def same(value):
    """A value as it is."""
    return value


def mov(instruction, names):
    """mov: one register, a vector taken apart or put together, an address, or a clock (PTX ISA: mov)."""
    target, value = instruction.operands
    type = instruction.modifiers[-1]
    if isinstance(value, syntax.Special) and value.name in CLOCKS:
        return _clock(target, value.name, type, names)
    if isinstance(target, syntax.Vector):
        return _apart(target, value, type, names)
    if isinstance(value, syntax.Vector):
        return _together(target, value, type, names)
    if isinstance(value, syntax.Register) and value.type == "pred":
        type = "pred"
    plain = type if type in ("pred",) else f"b{WIDTHS[type]}"
    if plain == "b128":
        return _wide(target, value, names)
    return {"lanewise": step(same, [names.result(target, plain)], [names.source(value, plain)])}


def _clock(target, name, type, names):
    row, make = names.result(target, type)
    shift = 32 if name.endswith("_hi") else 0

    def run(warp):
        warp.put_bits(row, make(np.full(32, warp.clock() >> shift, np.uint64)))

    return {"run": run}


def _parts(vector, type):
    total = WIDTHS[type]
    bits = total // len(vector.operands)
    return f"b{bits}", [bits * i for i in range(len(vector.operands))]


def _apart(target, value, type, names):
    part, shifts = _parts(target, type)
    if type == "b128":
        halves = names.wide(value)
        pieces = [(halves[shift // 64], shift % 64) for shift in shifts]
    else:
        row, _ = names.source(value, type)
        pieces = [(row, shift) for shift in shifts]
    results = [names.result(operand, part) for operand in target.operands]

    def split(*held):
        values = [one >> np.uint64(shift) for one, (_, shift) in zip(held, pieces)]
        return values if len(values) > 1 else values[0]

    return {"lanewise": step(split, results, [(row, same) for row, _ in pieces])}


def _together(target, value, type, names):
    part, shifts = _parts(value, type)
    sources = [names.source(operand, part) for operand in value.operands]

    def joined(shifts):
        def join(*parts):
            total = parts[0].copy()
            for one, shift in zip(parts[1:], shifts[1:]):
                total |= one << np.uint64(shift)
            return total
        return join

    if type != "b128":
        return {"lanewise": step(joined(shifts), [names.result(target, type)], sources)}
    half, low, high = len(sources) // 2, *names.wide(target)
    join = joined(shifts[:half])

    def halves(*parts):
        return join(*parts[:half]), join(*parts[half:])

    return {"lanewise": step(halves, [(low, same), (high, same)], sources)}


def _wide(target, value, names):
    pairs = zip(names.wide(target), names.wide(value))
    results, sources = zip(*(((to, same), (at, same)) for to, at in pairs))
    return {"lanewise": step(lambda a, b: (a.copy(), b.copy()), list(results), list(sources))}


def cvta(instruction, names):
    """cvta, cvta.to: between addresses in a space and generic ones (PTX ISA: cvta)."""
    *_, space, type = instruction.modifiers
    target, value = instruction.operands
    start = _WINDOWS.get(space)
    if start is None:
        raise MachineError(f"cvta of {space}: the machine has {', '.join(_WINDOWS)}")
    distance = np.uint64(start)
    if "to" in instruction.modifiers:
        return {"lanewise": step(lambda at: at - distance, [names.result(target, type)], [names.source(value, type)])}
    return {"lanewise": step(lambda at: at + distance, [names.result(target, type)], [names.source(value, type)])}


def isspacep(instruction, names):
    """isspacep: whether a generic address lies in a space (PTX ISA: isspacep)."""
    space, (target, value) = instruction.modifiers[0], instruction.operands
    start = _WINDOWS[space]
    if start:
        def inside(at):
            return (at >= np.uint64(start)) & (at < np.uint64(start + WINDOW))
    else:
        def inside(at):
            return (at < np.uint64(PARAMETERS)) | (at >= np.uint64(SHARED + WINDOW))
    return {"lanewise": step(inside, [names.result(target, "pred")], [names.source(value, "u64")])}


MOVES = {"mov": mov, "cvta": cvta, "isspacep": isspacep}
