"""CuTe's choice of ldmatrix drives a kernel: every mma, value layout, storage order, ldmatrix and layout of the notes."""

from cuda_kernels.kernels.cute.atoms import CASES, REJECTED, Atoms
from cuda_kernels.kernels.cute.plan import Operand

__all__ = ["CASES", "REJECTED", "Atoms", "Operand"]
