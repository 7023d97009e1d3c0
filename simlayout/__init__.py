"""simlayout: shared-memory layouts, predicted, proved, and emitted into running GPU kernels.

>>> import simlayout as sl
>>> tile = sl.Swizzle(3, 3, 3) @ sl.Layout((16, 64), (64, 1))
>>> a = sl.Access("load A", "ldmatrix.x4", tile, lanes=lambda tid, k: (tid % 16, 16*k + 8*(tid % 32 // 16)),
...               domain={"tid": 32, "k": 4}, dtype="f16")
>>> sl.verify(a).excess
0

Importing it needs NumPy alone; `simlayout.machine` and `simlayout.plots` load when they are used.
"""

from importlib import import_module

from simlayout.algebra import (
    Composed,
    F2Map,
    Layout,
    Rotation,
    Swizzle,
    byte_address,
    coalesce,
    complement,
    composition,
    dtype_of,
    logical_divide,
    logical_product,
    parse,
    tiled_divide,
    zipped_divide,
)
from simlayout.codegen import Emitted, emit, formula
from simlayout.errors import (
    AddressError,
    DeviceError,
    HazardError,
    InstructionError,
    LayoutError,
    MachineError,
    ParseError,
    SimlayoutError,
    VerificationError,
)
from simlayout.hardware import Analysis, OperandTile, TensorMap, analyze, choose_ldmatrix, fragment, instruction
from simlayout.numerics import mma
from simlayout.proofs import Access, Certificate, Plan, Prediction, equivalent, prove_operand, prove_tile, verify
from simlayout.synthesis import search

__version__ = "0.1.0"

__all__ = [
    "Access", "AddressError", "Analysis", "Certificate", "Composed", "DeviceError", "Emitted", "F2Map", "HazardError",
    "InstructionError", "Layout", "LayoutError", "MachineError", "OperandTile", "ParseError", "Plan", "Prediction",
    "Rotation", "SimlayoutError", "Swizzle", "TensorMap", "VerificationError", "analyze", "byte_address",
    "choose_ldmatrix", "coalesce", "complement", "composition", "dtype_of", "emit", "equivalent", "formula", "fragment",
    "instruction", "logical_divide", "logical_product", "machine", "mma", "numerics", "parse", "plots", "prove_operand",
    "prove_tile", "search", "tiled_divide", "verify", "zipped_divide",
]

_WHEN_USED = ("machine", "plots")


def __getattr__(name):
    if name in _WHEN_USED:
        return import_module(f"simlayout.{name}")
    raise AttributeError(f"module 'simlayout' has no attribute {name!r}")
