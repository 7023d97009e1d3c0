# What the names of this package are, for type checkers: it brings them when they are first used (simlayout.lazy).

from simlayout.hardware.tables.tensor_ops import TENSOR_OPS, TensorOp, tensor_op
from simlayout.numerics.narrow import MINIFLOATS, NARROW_RULES, narrow_mma
from simlayout.numerics.product import gemm, mma
from simlayout.numerics.rules import MEASURED, Rule, rule
from simlayout.numerics.warps import WarpMma, warp_mma

__all__ = ["MEASURED", "MINIFLOATS", "NARROW_RULES", "TENSOR_OPS", "Rule", "TensorOp", "WarpMma", "gemm", "mma",
           "narrow_mma", "rule", "tensor_op", "warp_mma"]
