# The names of this package, and where they come from: for type checkers, and for `simlayout.lazy`.

from simlayout import (
    algebra as algebra, clinic as clinic, codegen as codegen, errors as errors, guide as guide, hardware as hardware,
    lessons as lessons, machine as machine, nsight as nsight, numerics as numerics, plan as plan, plots as plots,
    programs as programs, proofs as proofs, ptx as ptx, synthesis as synthesis, testing as testing
)
from simlayout.algebra import (
    Composed as Composed, F2Map as F2Map, Layout as Layout, Rotation as Rotation, Swizzle as Swizzle, Tile as Tile,
    byte_address as byte_address, coalesce as coalesce, complement as complement, composition as composition,
    dtype_of as dtype_of, logical_divide as logical_divide, logical_product as logical_product, parse as parse,
    tiled_divide as tiled_divide, zipped_divide as zipped_divide
)
from simlayout.codegen import Emitted as Emitted, emit as emit, formula as formula, tile as tile, translate as translate
from simlayout.errors import (
    AddressError as AddressError, DeviceError as DeviceError, HazardError as HazardError,
    InstructionError as InstructionError, LayoutError as LayoutError, MachineError as MachineError, ParseError as ParseError,
    SimlayoutError as SimlayoutError, VerificationError as VerificationError
)
from simlayout.hardware import (
    Analysis as Analysis, OperandTile as OperandTile, TensorMap as TensorMap, analyze as analyze,
    choose_ldmatrix as choose_ldmatrix, fragment as fragment, instruction as instruction
)
from simlayout.numerics import mma as mma
from simlayout.plan import Plan as Plan, Prediction as Prediction
from simlayout.programs import simulate as simulate
from simlayout.proofs import (
    Access as Access, Certificate as Certificate, Source as Source, equivalent as equivalent, prove_operand as prove_operand,
    prove_tile as prove_tile, verify as verify
)
from simlayout.synthesis import rearrange as rearrange, search as search, search_plan as search_plan

__version__: str
