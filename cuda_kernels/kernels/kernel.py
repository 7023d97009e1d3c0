"""What a GEMM kernel is: options, a plan, a body, and how it is launched."""

from dataclasses import dataclass, fields, replace
from functools import cached_property
from importlib import import_module

import numpy as np

from simlayout.algebra import dtype_of
from simlayout.codegen import identifier
from simlayout.errors import SimlayoutError, VerificationError
from simlayout.hardware.tables.arch import LANES

SIGNATURE = "u64 u64 u64 s32 s32 s32 s32 s32 s32"
"""Addresses of A (M, K), B (N, K) and C (M, N), then M, N, K and the leading dimensions lda, ldb, ldc in elements."""

STRIPE = 16
"""CTAs along N that share a stripe of C: neighbours in time read the same rows of A and B from L2."""


def check_as_emitted(access, function, module):
    """Raises VerificationError, with the first point, where an emitted function, in bytes, is not the access's own. module:
    its name."""
    wrong = function(*access.points()) != access.offsets() * dtype_of(access.dtype).bytes
    if wrong.any():
        row, lane = divmod(int(np.argmax(wrong)), LANES)
        raise VerificationError(f"{module}.{identifier(access.name)} is out of date at {access.point(row, lane)}: run "
                                "`python -m cuda_kernels.emitted`")


@dataclass(frozen=True)
class Kernel:
    """One GEMM kernel: C = A @ B.T for A (M, K) and B (N, K), both K-contiguous f16; C (M, N) f16, row-major. (`dtype` and
    `blas_order` say so, in a benchmark's words; of a subclass they may differ.)

    options: a frozen dataclass; make_plan(options) -> Plan; make_body(options) -> the kernel's Python function;
    emitted_as(options) -> the module of `cuda_kernels.emitted` whose index functions the body calls; emits() -> the
    accesses of each such module, {module: (Access, ...)}. index(options) -> what holds the index functions that the body
    calls, where that is not always the emitted module.
    """

    name: str
    summary: str
    options: object
    make_plan: object
    make_body: object
    emitted_as: object
    emits: object
    index: object = None

    signature = SIGNATURE
    dtype = "f16"
    blas_order = "NT"

    def variant(self, **changes):
        """The same kernel with other options, for example variant(stages=4, accumulate="f32")."""
        return with_options(self, changes)

    @cached_property
    def plan(self):
        """The plan: tile, warps, stages, accesses."""
        return self.make_plan(self.options)

    @cached_property
    def body(self):
        """The kernel's Python function: for `cuda_kernels.build.compile` on a GPU, for `simlayout.machine.run` on a CPU."""
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
        certificates = self.plan.verify()
        name = f"cuda_kernels.emitted.{self.emitted_as(self.options)}"
        module = self.index(self.options) if self.index else import_module(name)
        for access in self.plan.accesses:
            check_as_emitted(access, getattr(module, identifier(access.name)), name)
        return certificates

    def grid(self, M, N):
        """CTAs as (x, y, z): x walks a stripe of 16 tiles along N, y the rows of tiles, z the stripes."""
        rows, cols, _ = self.plan.tile
        return STRIPE, -(-M // rows), -(-N // (STRIPE * cols))

    def fitted(self, M, N, K, lda=None, ldb=None, ldc=None):
        """The variant for a problem: 16-byte copies where rows start on 16 bytes, 2-byte ones where they do not."""
        lda, ldb, ldc = lda or K, ldb or K, ldc or N
        rows, cols, depth = self.plan.tile
        ab_aligned = K % 8 == lda % 8 == ldb % 8 == 0
        return self.variant(ab_aligned=ab_aligned, c_aligned=N % 8 == ldc % 8 == 0,
                            whole=ab_aligned and M % rows == N % cols == K % depth == 0)

    def unaligned(self, a, b, c):
        """The variant for addresses of A, B and C of which some (bools) do not start on 16 bytes."""
        options = self.options
        return self.variant(ab_aligned=options.ab_aligned and not (a or b), c_aligned=options.c_aligned and not c,
                            whole=options.whole and not (a or b))

    def run(self, a, b, device="auto", progress=None, hazards="raise"):
        """C = A @ B.T of NumPy arrays, as of `cuda_kernels.run.mma.run`."""
        from cuda_kernels.run.mma import run

        return run(self, a, b, device, progress, hazards)


def with_options(kernel, changes):
    """A kernel, a dataclass with a name and options, with other options. Raises SimlayoutError for one that it has not."""
    known = [f.name for f in fields(kernel.options)]
    for key in changes:
        if key not in known:
            raise SimlayoutError(f"kernel {kernel.name} has no option {key!r}; it has {', '.join(known)}")
    return replace(kernel, options=replace(kernel.options, **changes))


def choice(name, value, allowed):
    """Refuses an option that is not one of the allowed values."""
    if value not in allowed:
        raise SimlayoutError(f"{name} = {value!r}: choose one of {', '.join(map(repr, allowed))}")
