# The names of this package, and where they come from: for type checkers, and for `simlayout.lazy`.

from simlayout.hardware.tables.tensor_ops import TENSOR_OPS as TENSOR_OPS, TensorOp as TensorOp, tensor_op as tensor_op
from simlayout.numerics.narrow import MINIFLOATS as MINIFLOATS, NARROW_RULES as NARROW_RULES, narrow_mma as narrow_mma
from simlayout.numerics.product import gemm as gemm, mma as mma
from simlayout.numerics.rules import MEASURED as MEASURED, Rule as Rule, rule as rule
from simlayout.numerics.warps import WarpMma as WarpMma, WarpSparseMma as WarpSparseMma, warp_mma as warp_mma
