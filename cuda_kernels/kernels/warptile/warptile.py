"""warptile: C = A B in bf16 on CUDA cores, by warp tiling. Version 1 of the H100 notes (fast.cu's kernel 1, after siboehm).

In version 1 B is (K, N), row-major: it computes another product than version 2 does from the same memory. The names of the
original are BM = BN = 128, BK = 16, WM = WN = 64, TM = 8, TN = 4, WNITER = 4, WMITER = 1, WSUBM = 64, WSUBN = 16, regM,
regN, threadResults. Here M, N and K may be anything.
"""

from functools import cached_property

from cuda_kernels.kernels.kernel import ThreadKernel
from cuda_kernels.kernels.warptile.body import make_body
from cuda_kernels.kernels.warptile.plan import ACCESSES, BLOCK, CHUNK_K, PLAN, Options


class WarpTile(ThreadKernel):
    """C = A @ B for A (M, K), B (K, N) and C (M, N), all row-major bf16: B lies otherwise than that of `ThreadKernel`."""

    dtypes = "bf16", "bf16", "bf16"
    majors = "K", "N", "N"
    plan = PLAN

    @cached_property
    def body(self):
        """The kernel's Python function."""
        return make_body(self.index, self.options)

    def emits(self):
        """The accesses of all variants."""
        return {self.name: ACCESSES}

    def predict(self, problem):
        """What the plan predicts of a problem."""
        return self.plan.predict(problem.M, problem.N, problem.K)

    def fitted(self, problem):
        """The variant for a problem."""
        lda, ldb, ldc = self.leading(problem)
        M, N, K = problem.M, problem.N, problem.K

        def aligned(address, length, leading):
            return address % 8 == 0 and length % 4 == leading % 4 == 0

        a, b, c = aligned(problem.a, K, lda), aligned(problem.b, N, ldb), aligned(problem.c, N, ldc)
        return self.variant(a_aligned=a, b_aligned=b, c_aligned=c,
                            whole=a and b and M % BLOCK == N % BLOCK == K % CHUNK_K == 0)


KERNEL = WarpTile("warptile", "warp tiling in bf16 on CUDA cores, A transposed in shared memory", Options())
