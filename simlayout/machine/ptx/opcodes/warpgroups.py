"""Warpgroups: wgmma and setmaxnreg (PTX ISA: Asynchronous Warpgroup Level Matrix Instructions)."""

import re
from dataclasses import dataclass

from simlayout.algebra.dtypes import TYPES
from simlayout.errors import InstructionError, MachineError
from simlayout.hardware import sparse_mma
from simlayout.machine.engine.warp import Warp
from simlayout.machine.ptx import syntax
from simlayout.machine.ptx.opcodes.groups import elements, number, sources
from simlayout.machine.ptx.opcodes.warps import everyone
from simlayout.numerics import tensor_op


def wgmma(instruction, names):
    """wgmma.fence, commit_group, wait_group, mma_async."""
    kind = instruction.modifiers[0]
    if kind == "fence":
        return {"run": _fence, "together": everyone}
    if kind == "commit_group":
        return {"run": lambda warp: warp.wgmma_commit(), "together": everyone}
    if kind == "wait_group":
        pending = instruction.operands[0].value
        return {"run": lambda warp: Warp.wgmma_wait.steps(warp, pending), "together": everyone}
    if kind != "mma_async":
        raise InstructionError("the machine has wgmma.fence, commit_group, wait_group and mma_async")
    return {"run": Product(instruction, names), "together": everyone}


def _fence(warp):
    warp.wgmma_fence()
    warp.right_behind_fence = True
    for registers in warp.accumulators:
        registers.moved = None


class Product:
    """wgmma.mma_async. number: of its set of accumulators (see `accumulators`)."""

    def __init__(self, instruction, names):
        modifiers = instruction.modifiers
        shape = next(m for m in modifiers if re.fullmatch(r"m\d+n\d+k\d+", m))
        types = [m for m in modifiers if m in TYPES]
        family = "wgmma.sp" if "sp" in modifiers else "wgmma"
        self.name = ".".join((family, shape, *types)) + ".satfinite" * ("satfinite" in modifiers)
        op = tensor_op(self.name)
        target, a, b, *rest = instruction.operands
        self._metadata, self._sparse = None, {}
        if op.sparse:
            metadata, selector, *rest = rest
            self._metadata = number(metadata, names, "b32")
            self._sparse = {"selector": sparse_mma(self.name).check_selector(selector.value)}
        scale_d, *rest = rest
        registers = elements(target)
        if len(registers) != 64 * op.n * TYPES[op.d].bytes // (128 * 4):
            raise InstructionError(f"{len(registers)} registers of D")
        self.number = names.lowering.accumulators.number(tuple(names.register(one) for one in registers))
        self._fragment = isinstance(a, syntax.Vector)
        self._a = sources(a, "b32" if self._fragment else "b64", names)
        self._b, self._scale = number(b, names, "b64"), number(scale_d, names, "pred")
        self._negated, self._trans = _immediates([one.value for one in rest], op, self._fragment)

    def __call__(self, warp):
        a, b = self._a(warp), self._b(warp)
        sparse = {"metadata": self._metadata(warp), **self._sparse} if self._metadata else {}
        accumulators = warp.accumulators[self.number]
        accumulators.begins()
        warp.wgmma(self.name, accumulators, tuple(a) if self._fragment else a[0], b, self._scale(warp),
                   *self._trans, self._negated, **sparse)
        warp.right_behind_fence = False


def _immediates(values, op, from_registers):
    """(whether the product is negated, (whether A, whether B is MN-major)) of the last operands."""
    halves = TYPES[op.a].bits == 16
    wanted = (3 if from_registers else 4) if halves else 2 if TYPES[op.a].exponent else 0
    if len(values) != wanted:
        raise InstructionError(f"{len(values)} immediate operands; it takes {wanted}")
    scales, trans = values[:2], values[2:]
    if any(scale not in (1, -1) for scale in scales) or any(t not in (0, 1) for t in trans):
        raise InstructionError("scales are 1 or -1, and the orders of A and B 0 or 1")
    return len(set(scales)) > 1, tuple([0] * (2 - len(trans)) + trans)


def setmaxnreg(instruction, names):
    """setmaxnreg."""
    count, increase = instruction.operands[0].value, instruction.modifiers[0] == "inc"
    if instruction.modifiers[0] not in ("inc", "dec"):
        raise MachineError("setmaxnreg is .inc or .dec")
    return {"run": Registers(count, increase), "together": everyone}


@dataclass(frozen=True)
class Registers:
    """setmaxnreg: a thread gets `count`; increase: whether it then has more."""

    count: int
    increase: bool

    def __call__(self, warp):
        return Warp.setmaxnreg.steps(warp, self.count, self.increase)


WARPGROUPS = {"wgmma": wgmma, "setmaxnreg": setmaxnreg}
