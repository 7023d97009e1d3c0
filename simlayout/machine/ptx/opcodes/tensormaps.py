"""tensormap: maps that a program makes itself (PTX ISA: tensormap.replace, tensormap.cp_fenceproxy)."""

import numpy as np

from simlayout.errors import InstructionError
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.ptx.memory.maps import FIELDS
from simlayout.machine.ptx.memory.space import SHARED, in_window
from simlayout.machine.ptx.opcodes.bulk import lanes_of
from simlayout.machine.ptx.opcodes.groups import address, generic_address, number
from simlayout.machine.ptx.opcodes.warps import everyone


def tensormap(instruction, names):
    """tensormap.replace, tensormap.cp_fenceproxy."""
    if instruction.modifiers[0] == "replace":
        return _replace(instruction, names)
    if instruction.modifiers[0] == "cp_fenceproxy":
        to, of = generic_address(instruction.operands[0], names), _in_shared(instruction.operands[1], names)
        return {"run": lambda warp: _copy(warp, int(_one(warp, to)), int(_one(warp, of))), "together": everyone}
    raise InstructionError("the machine has tensormap replace and cp_fenceproxy")


def _in_shared(operand, names):
    """The generic address of what lies in shared memory, of which an instruction has an address there."""
    where = address(operand, names)
    return lambda warp: in_window(where(warp)) + SHARED


def _one(warp, what):
    """What the first active lane gives."""
    return what(warp)[int(np.flatnonzero(warp.active)[0])]


def _copy(warp, target, source):
    """One lane copies a map from shared to global memory."""
    outer, lane = warp.active, np.arange(LANES) == int(np.flatnonzero(warp.active)[0])
    words = source - SHARED + 4 * np.arange(LANES)       # all lanes copy a word
    warp.record("ld.shared.b32", words, words)
    warp.narrow(lane)
    warp.write_map(target, warp.read_map(source, "tensormap.cp_fenceproxy"))
    warp.narrow(outer)


def _replace(instruction, names):
    field = instruction.modifiers[2]
    if instruction.modifiers[1] != "tile" or field not in FIELDS.names or field == "mark":
        raise InstructionError(f"tensormap.replace of .{field}: the machine has {', '.join(FIELDS.names[:-1])}")
    place, *rest = instruction.operands
    several = FIELDS[field].shape != ()
    if len(rest) != 1 + several:
        raise InstructionError(f"tensormap.replace of .{field} takes {'an index and ' * several}a value")
    where = (_in_shared if "shared" in instruction.spaces else generic_address)(place, names)
    index, value = number(rest[0], names, "u32") if several else None, number(rest[-1], names, instruction.modifiers[-1])

    def run(warp):
        outer = warp.active
        for lane, one in lanes_of(warp):
            warp.narrow(one)
            at = int(where(warp)[lane])
            warp.replace_in_map(at, field, int(value(warp)[lane]), int(index(warp)[lane]) if several else None)
            for access in warp.doing.fields:
                words = np.full(LANES, at - SHARED + access.offset)
                warp.record(access.name, words, words)
        warp.narrow(outer)

    return {"run": run}


TENSORMAPS = {"tensormap": tensormap}
