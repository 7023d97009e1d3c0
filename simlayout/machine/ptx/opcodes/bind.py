"""What each PTX instruction does: `bind` finds it in one of the tables, by opcode."""

from simlayout.errors import InstructionError, MachineError
from simlayout.machine.ptx.opcodes.bulk import BULK
from simlayout.machine.ptx.opcodes.clusters import CLUSTERS
from simlayout.machine.ptx.opcodes.control import CONTROL
from simlayout.machine.ptx.opcodes.copies import COPIES
from simlayout.machine.ptx.opcodes.lanewise import bind_lanewise
from simlayout.machine.ptx.opcodes.matrix import MATRIX
from simlayout.machine.ptx.opcodes.mbarriers import MBARRIERS
from simlayout.machine.ptx.opcodes.memory import MEMORY
from simlayout.machine.ptx.opcodes.moves import MOVES
from simlayout.machine.ptx.opcodes.tensormaps import TENSORMAPS
from simlayout.machine.ptx.opcodes.warpgroups import WARPGROUPS
from simlayout.machine.ptx.opcodes.warps import WARPS

TABLES = (CONTROL | MEMORY | MOVES | WARPS | MATRIX | COPIES | BULK | MBARRIERS | WARPGROUPS | CLUSTERS
          | TENSORMAPS)
"""Opcode -> what binds it: called as bind(instruction, names), gives a dict of fields of a Step, or a list of such. All
other opcodes are arithmetic (`lanes.lane_op`)."""


def bind(instruction, names):
    """The Steps of an instruction, as dicts of their fields. Raises MachineError for what the machine does not have."""
    binder = TABLES.get(instruction.opcode, bind_lanewise)
    try:
        made = binder(instruction, names)
    except InstructionError as error:
        raise MachineError(str(error)) from None
    return made if isinstance(made, list) else [made]
