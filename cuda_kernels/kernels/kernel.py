"""GEMM kernels whose threads compute every address: a plan of all accesses, a body that calls emitted index functions."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
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
    """A GEMM of f16, both operands contiguous along K, whose threads compute every address.

    options: a frozen dataclass; make_plan(options) -> Plan; make_body(options) -> the kernel's Python function;
    emitted_as(options) -> the module of `cuda_kernels.emitted` whose index functions the body calls; emits() -> the
    accesses of each such module, {module: (Access, ...)}. index(options) -> what holds the index functions that the body
    calls, where that is not always the emitted module.
    """

    name: str
    summary: str
    options: Any
    make_plan: Callable = field(repr=False)
    make_body: Callable = field(repr=False)
    emitted_as: Callable = field(repr=False)
    emits: Callable = field(repr=False)
    index: Callable | None = field(default=None, repr=False)

    def __reduce__(self):
        from cuda_kernels.kernels import named

        return named, (self.name, self.options)

    @cached_property
    def plan(self):
        """The plan: tile, warps, stages, accesses."""
        return self.make_plan(self.options)

    @cached_property
    def body(self):
        """The kernel's Python function."""
        return self.make_body(self.options)

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

        certificates = self.plan.verify()
        name = f"cuda_kernels.emitted.{self.emitted_as(self.options)}"
        module = self.index(self.options) if self.index else import_module(name)
        for access in self.plan.accesses:
            check_as_emitted(access, getattr(module, identifier(access.name)), name)
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
