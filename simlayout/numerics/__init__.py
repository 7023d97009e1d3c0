"""Tensor-core arithmetic, bit for bit: what an mma, wgmma or tcgen05.mma instruction returns."""

from simlayout.hardware.tables.tensor_ops import TENSOR_OPS as TENSOR_OPS
from simlayout.hardware.tables.tensor_ops import TensorOp as TensorOp
from simlayout.hardware.tables.tensor_ops import tensor_op as tensor_op
from simlayout.lazy import when_used

_MODULES = {
    "narrow": ("MINIFLOATS", "NARROW_RULES", "narrow_mma"),
    "product": ("gemm", "mma"),
    "rules": ("MEASURED", "Rule", "rule"),
    "warps": ("WarpMma", "warp_mma"),
}
"""The modules of the package, each with the names that bring it when they are first used."""

__getattr__, __dir__, __all__ = when_used(__name__, _MODULES, also=("TENSOR_OPS", "TensorOp", "tensor_op"))
