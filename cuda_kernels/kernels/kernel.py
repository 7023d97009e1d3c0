"""GEMM kernels whose threads compute every address: a plan of all accesses, a body that calls emitted index functions."""

from abc import abstractmethod
from dataclasses import dataclass, fields
from importlib import import_module
from typing import Any

import numpy as np

from cuda_kernels.kernels.gemm import Gemm
from simlayout.algebra import dtype_of
from simlayout.errors import SimlayoutError, VerificationError
from simlayout.hardware.tables.arch import LANES
from simlayout.kernel import LaunchShape

STRIPE = 16
"""CTAs along N that share a stripe of C: neighbours in time read the same rows of A and B from L2."""


def check_as_emitted(access, function, module):
    """Raises VerificationError, with the first point, where an emitted function, in bytes, is not the access's own. module:
    its name."""
    from simlayout.codegen import identifier

    wrong = function(*access.points()) != access.offsets() * dtype_of(access.dtype).bytes
    if wrong.any():
        row, lane = divmod(int(np.argmax(wrong)), LANES)
        raise VerificationError(f"{module}.{identifier(access.name)} is out of date at {access.point(row, lane)}: run "
                                "`python -m cuda_kernels.emitted`")


@dataclass(frozen=True)
class ThreadKernel(Gemm):
    """A GEMM of f16, both operands contiguous along K, whose threads compute every address. options: a frozen dataclass."""

    name: str
    summary: str
    options: Any

    def __reduce__(self):                                # without what is kept of it, which has functions
        return type(self), tuple(getattr(self, each.name) for each in fields(self))

    @property
    @abstractmethod
    def plan(self):
        """The plan: tile, warps, stages, accesses."""

    @property
    def emitted(self):
        """The module of `cuda_kernels.emitted` that has the index functions of its accesses."""
        return self.name

    @property
    def index(self):
        """What holds the index functions that the body calls."""
        return import_module(f"cuda_kernels.emitted.{self.emitted}")

    @abstractmethod
    def emits(self):
        """The accesses of each module that some variant calls, {module: (Access, ...)}."""

    @property
    def block(self):
        """Threads per CTA."""
        return LANES * self.plan.warps

    @property
    def shared_bytes(self):
        """Dynamic shared memory per CTA, in bytes."""
        return self.plan.shared_bytes

    def prove(self):
        """Proves the plan, and that the emitted functions that the body calls are the plan's own on their whole domain.

        Returns the certificates by access name; raises VerificationError.
        """
        from simlayout.codegen import identifier

        certificates, index = self.plan.verify(), self.index
        for access in self.plan.accesses:
            check_as_emitted(access, getattr(index, identifier(access.name)), f"cuda_kernels.emitted.{self.emitted}")
        return certificates

    def launch_shape(self, problem):
        """Its launch: x walks a stripe of 16 tiles along N, y the rows of tiles, z the stripes."""
        rows, cols, _ = self.plan.tile
        grid = STRIPE, -(-problem.M // rows), -(-problem.N // (STRIPE * cols))
        return LaunchShape(grid, self.block, self.shared_bytes)

    def fitted(self, problem):
        """The variant for a problem: 16-byte copies where rows start on 16 bytes, 2-byte ones where they do not."""
        lda, ldb, ldc = self.leading(problem)
        M, N, K = problem.M, problem.N, problem.K
        rows, cols, depth = self.plan.tile
        ab_aligned = K % 8 == lda % 8 == ldb % 8 == 0 and problem.a % 16 == problem.b % 16 == 0
        return self.variant(ab_aligned=ab_aligned, c_aligned=N % 8 == ldc % 8 == 0 and problem.c % 16 == 0,
                            whole=ab_aligned and M % rows == N % cols == K % depth == 0)


def choice(name, value, allowed):
    """Refuses an option that is not one of the allowed values."""
    if value not in allowed:
        raise SimlayoutError(f"{name} = {value!r}: choose one of {', '.join(map(repr, allowed))}")
