"""Tensor-core arithmetic, bit for bit: what an mma or wgmma instruction returns."""

from simlayout.hardware.tables.tensor_ops import TENSOR_OPS, TensorOp, tensor_op
from simlayout.numerics.product import gemm, mma
from simlayout.numerics.rules import MEASURED, Rule, rule
from simlayout.numerics.warps import WarpMma, warp_mma

__all__ = ["MEASURED", "TENSOR_OPS", "Rule", "TensorOp", "WarpMma", "gemm", "mma", "rule", "tensor_op", "warp_mma"]
