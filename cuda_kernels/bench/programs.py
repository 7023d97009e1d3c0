"""What the cases of a benchmark launch, so that it can be compiled ahead."""

from cuda_kernels.bench.sets import TRITON
from simlayout.hardware.tables.arch import FEATURES, target_of


def programs(cases, capability, sms):
    """The programs (as of `cuda_kernels.build.cache.compiled`) of some Cases on a GPU of this compute capability with `sms`
    SMs; what matmul chooses where there is no wgmma is left out.

    >>> from cuda_kernels.bench.sets import cases_of
    >>> {p.out for p in programs(cases_of(["layers"]), (9, 0), 132)}
    {'bf16'}
    """
    found = [_program(case, capability, sms) for case in cases if case.kernel != TRITON]
    return [p for p in found if p is not None]


def _program(case, capability, sms):
    from cuda_kernels import Kernel
    from cuda_kernels.matmul.choose.choice import configured
    from cuda_kernels.matmul.steps import MmaProgram

    p = case.problem
    if isinstance(case.kernel, Kernel):
        fitted = case.kernel.fitted(p.M, p.N, p.K)
        return MmaProgram(case.kernel.name, fitted.options, target_of(capability), fitted.shared_bytes)
    if not FEATURES["wgmma"].on(capability):
        return None
    majors = "K" if p.order[0] == "N" else "MN", "K" if p.order[1] == "T" else "MN"
    kernel = None if case.kernel == "auto" else case.kernel
    return configured(kernel, p.M, p.N, p.K, 1, sms, *majors, p.dtype, p.dtype).program
