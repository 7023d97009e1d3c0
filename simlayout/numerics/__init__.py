"""Tensor-core arithmetic, bit for bit: what an mma, wgmma or tcgen05.mma instruction returns."""

from simlayout.hardware.tables.tensor_ops import TENSOR_OPS, TensorOp, tensor_op
from simlayout.numerics.narrow import MINIFLOATS, NARROW_RULES, narrow_mma
from simlayout.numerics.product import gemm, mma
from simlayout.numerics.rules import MEASURED, Rule, rule
from simlayout.numerics.warps import WarpMma, warp_mma

__all__ = ["MEASURED", "MINIFLOATS", "NARROW_RULES", "TENSOR_OPS", "Rule", "TensorOp", "WarpMma", "gemm", "mma",
           "narrow_mma", "rule", "tensor_op", "warp_mma"]
