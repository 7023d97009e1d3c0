"""Tensor-core arithmetic, bit for bit: what an mma or wgmma instruction returns."""

from simlayout.hardware.tables.tensor_ops import TENSOR_OPS, TensorOp, tensor_op
from simlayout.numerics.arithmetic import compute_tile
from simlayout.numerics.product import gemm, mma
from simlayout.numerics.rules import MEASURED, Rule, rule

__all__ = ["MEASURED", "TENSOR_OPS", "Rule", "TensorOp", "compute_tile", "gemm", "mma", "rule", "tensor_op"]
