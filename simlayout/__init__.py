"""simlayout: shared-memory layouts, predicted, proved, and emitted into running GPU kernels.

>>> import simlayout as sl
>>> tile = sl.Swizzle(3, 3, 3) @ sl.Layout((16, 64), (64, 1))
>>> a = sl.Access("load A", "ldmatrix.x4", tile, lanes=lambda tid, k: (tid % 16, 16*k + 8*(tid % 32 // 16)),
...               domain={"tid": 32, "k": 4}, dtype="f16")
>>> sl.verify(a).excess
0

Importing it loads nothing; every name brings its module when it is first used. All of them need NumPy alone, but `plots`,
which needs Matplotlib, and the strategies of `testing`, which need Hypothesis.
"""

from simlayout.lazy import when_used

__version__ = "0.1.0"

_MODULES = {
    "algebra": ("Composed", "F2Map", "Layout", "Rotation", "Swizzle", "Tile", "byte_address", "coalesce", "complement",
                "composition", "dtype_of", "logical_divide", "logical_product", "parse", "tiled_divide", "zipped_divide"),
    "clinic": (),
    "codegen": ("Emitted", "emit", "formula", "tile", "translate"),
    "errors": ("AddressError", "DeviceError", "HazardError", "InstructionError", "LayoutError", "MachineError", "ParseError",
               "SimlayoutError", "VerificationError"),
    "guide": (),
    "hardware": ("Analysis", "OperandTile", "TensorMap", "analyze", "choose_ldmatrix", "fragment", "instruction"),
    "lessons": (),
    "machine": (),
    "numerics": ("mma",),
    "plots": (),
    "plan": ("Plan", "Prediction"),
    "proofs": ("Access", "Certificate", "Source", "equivalent", "prove_operand", "prove_tile",
               "verify"),
    "programs": ("simulate",),
    "ptx": (),
    "synthesis": ("rearrange", "search", "search_plan"),
    "testing": (),
}
"""The modules of the package, each with its names that are names of the package too."""

__getattr__, __dir__, __all__ = when_used(__name__, _MODULES, also=("machine", "numerics", "plots", "programs", "ptx",
                                                           "testing"))
