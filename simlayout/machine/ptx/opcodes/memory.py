"""Loads, stores and atomics (PTX ISA, Data Movement and Conversion Instructions)."""

import numpy as np

from simlayout.errors import MachineError
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.opcodes.atoms import atomic
from simlayout.machine.ptx.rows import WIDTHS

_SPACES = {"global", "shared", "local", "param", "const"}
_ORDERS = {"weak", "relaxed", "acquire", "release", "volatile", "mmio"}
_HINTS = {"nc", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "unified"}
_SCOPES = {"cta", "cluster", "gpu", "sys"}
_VECTORS = {"v2": 2, "v4": 4, "v8": 8}


class Form:
    """What the modifiers of a load or store say. space: "" if generic; order: "weak" if none; count, type: of the
    elements."""

    def __init__(self, instruction):
        self.space, self.order, self.count, self.type = "", "weak", 1, instruction.modifiers[-1]
        for modifier in instruction.modifiers[:-1]:
            head = modifier.split("::")[0]
            if head in _SPACES:
                self.space = head
            elif modifier in _ORDERS:
                self.order = modifier
            elif modifier in _VECTORS:
                self.count = _VECTORS[modifier]
            elif modifier not in _HINTS | _SCOPES and head not in ("L1", "L2", "level"):
                raise MachineError(f"the machine has no .{modifier} here")
        if self.type not in WIDTHS:
            raise MachineError(f".{self.type} is no type")
        self.strong = self.order != "weak"
        self.bytes = WIDTHS[self.type] // 8


def _elements(operand, form):
    """The operands of the elements, one or those of a vector; b128 counts as two of b64."""
    found = operand.operands if isinstance(operand, syntax.Vector) else (operand,)
    if len(found) != form.count:
        raise MachineError(f"{len(found)} registers for {form.count} elements")
    return found


def _address(operand, form, names):
    """(space, row, offset as uint64) of an operand in brackets."""
    row, offset = names.address(operand)
    space = form.space or names.space_of(operand)
    if space == "param" and not names.space_of(operand) == "param":
        space = "local" if names.space_of(operand) == "local" else "param"
    if space == "param" and names.space_of(operand) == "local":
        space = "local"
    return space, row, np.uint64(offset & 0xFFFFFFFFFFFFFFFF)


def load(instruction, names):
    """ld, ldu: elements from memory."""
    form = Form(instruction)
    space, row, offset = _address(instruction.operands[1], form, names)
    if form.type == "b128":
        wide = names.wide(instruction.operands[0])
        results, size, total = [(r, lambda value: value) for r in wide], 8, 16
    else:
        results = [names.result(operand, form.type) for operand in _elements(instruction.operands[0], form)]
        size, total = form.bytes, form.bytes * form.count
    dtype = np.dtype(f"{'i' if form.type[0] == 's' else 'u'}{size}")
    extend = np.int64 if form.type[0] == "s" else np.uint64
    raw = form.type[0] == "f" or form.type in ("pred",)

    def run(warp):
        data = warp.load(space, warp.rows[row] + offset, total, form.strong, form.order)
        values = data.view(dtype)
        for i, (target, make) in enumerate(results):
            if target is not None:
                value = values[:, i]
                warp.put_bits(target, value if raw else make(value.astype(extend)))

    return {"run": run}


def store(instruction, names):
    """st: elements to memory."""
    form = Form(instruction)
    space, row, offset = _address(instruction.operands[0], form, names)
    if form.type == "b128":
        rows, size, count = names.wide(instruction.operands[1]), 8, 2
    else:
        sources = [names.source(operand, form.type) for operand in _elements(instruction.operands[1], form)]
        rows, size, count = [r for r, _ in sources], form.bytes, form.count

    def run(warp):
        data = np.empty((32, count), f"u{size}")
        for i, source in enumerate(rows):
            data[:, i] = warp.rows[source]
        warp.store(space, warp.rows[row] + offset, data.view(np.uint8), form.strong, form.order)

    return {"run": run}


def fence(instruction, names):
    """membar, fence: orders memory accesses of a thread; fence.proxy.async also for the async proxy."""
    proxy = "proxy" in instruction.modifiers
    asynchronous = proxy and any(modifier.startswith("async") for modifier in instruction.modifiers)
    mbarriers = "mbarrier_init" in instruction.modifiers

    def run(warp):
        if asynchronous:
            warp.fence_proxy_async()
        elif mbarriers:
            warp.fence_mbarrier_init()
        elif not proxy:
            warp.fence_memory()

    return {"run": run}


MEMORY = {"ld": load, "ldu": load, "st": store, "atom": atomic, "red": atomic, "membar": fence, "fence": fence}
