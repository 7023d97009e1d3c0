# What the names of this package are, for type checkers: it brings them when they are first used (simlayout.lazy).

from simlayout import (
    algebra,
    clinic,
    codegen,
    errors,
    guide,
    hardware,
    lessons,
    machine,
    numerics,
    plan,
    plots,
    programs,
    proofs,
    ptx,
    synthesis,
    testing,
)
from simlayout.algebra import (
    Composed,
    F2Map,
    Layout,
    Rotation,
    Swizzle,
    Tile,
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
from simlayout.codegen import Emitted, emit, formula, tile, translate
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
from simlayout.plan import Plan, Prediction
from simlayout.programs import simulate
from simlayout.proofs import Access, Certificate, Source, equivalent, prove_operand, prove_tile, verify
from simlayout.synthesis import rearrange, search, search_plan

__version__: str
__all__ = ["Access", "AddressError", "Analysis", "Certificate", "Composed", "DeviceError", "Emitted", "F2Map", "HazardError",
           "InstructionError", "Layout", "LayoutError", "MachineError", "OperandTile", "ParseError", "Plan", "Prediction",
           "Rotation", "SimlayoutError", "Source", "Swizzle", "TensorMap", "Tile", "VerificationError", "algebra", "analyze",
           "byte_address", "choose_ldmatrix", "clinic", "coalesce", "codegen", "complement", "composition", "dtype_of",
           "emit", "equivalent", "errors", "formula", "fragment", "guide", "hardware", "instruction", "lessons",
           "logical_divide", "logical_product", "machine", "mma", "numerics", "parse", "plan", "plots", "programs",
           "proofs", "prove_operand", "prove_tile", "ptx", "rearrange", "search", "search_plan", "simulate", "synthesis",
           "testing", "tile", "tiled_divide", "translate", "verify", "zipped_divide"]
