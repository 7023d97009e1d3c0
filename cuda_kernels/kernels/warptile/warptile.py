"""warptile: C = A B in bf16 on CUDA cores, by warp tiling. Version 1 of the H100 notes (fast.cu's kernel 1, after siboehm).

In version 1 B is (K, N), row-major: it computes another product than version 2 does from the same memory. The names of the
original are BM = BN = 128, BK = 16, WM = WN = 64, TM = 8, TN = 4, WNITER = 4, WMITER = 1, WSUBM = 64, WSUBN = 16, regM,
regN, threadResults. Here M, N and K may be anything.
"""

import numpy as np

from cuda_kernels.kernels.kernel import Kernel
from cuda_kernels.kernels.warptile.body import make_body
from cuda_kernels.kernels.warptile.plan import ACCESSES, BLOCK, CHUNK_K, Options, make_plan


class WarpTile(Kernel):
    """C = A @ B for A (M, K), B (K, N) and C (M, N), all row-major bf16: B lies otherwise than that of `Kernel`."""

    dtype = "bf16"
    blas_order = "NN"

    def fitted(self, M, N, K, lda=None, ldb=None, ldc=None, a=0, b=0, c=0):
        """The variant for a problem. lda, ldb, ldc: elements from row to row, by default K, N, N; a, b, c: the addresses."""
        def aligned(address, length, leading):
            return address % 8 == 0 and length % 4 == (leading or length) % 4 == 0

        a_aligned, b_aligned, c_aligned = aligned(a, K, lda), aligned(b, N, ldb), aligned(c, N, ldc)
        whole = a_aligned and b_aligned and M % BLOCK == N % BLOCK == K % CHUNK_K == 0
        return self.variant(a_aligned=a_aligned, b_aligned=b_aligned, c_aligned=c_aligned, whole=whole)

    def unaligned(self, a, b, c):
        """The variant for addresses of A, B and C of which some (bools) do not start on 16 bytes."""
        options = self.options
        return self.variant(a_aligned=options.a_aligned and not a, b_aligned=options.b_aligned and not b,
                            c_aligned=options.c_aligned and not c, whole=options.whole and not (a or b))

    def run(self, a, b, device="auto", progress=None, hazards="raise"):
        """C = A @ B.T as every Kernel does, for bits of bf16 in uint16 arrays: see `cuda_kernels.run.warptile`."""
        from cuda_kernels.run.warptile import run_warptile

        return run_warptile(a, np.ascontiguousarray(b.T), device, progress, hazards)


KERNEL = WarpTile("warptile", "warp tiling in bf16 on CUDA cores, A transposed in shared memory", Options(), make_plan,
                  make_body, lambda options: "warptile", lambda: {"warptile": ACCESSES})
