"""What the cases of a benchmark launch, so that it can be compiled ahead."""

from cuda_kernels.bench.sets import TRITON
from cuda_kernels.build.program import Program
from cuda_kernels.kernels import as_kernel
from cuda_kernels.kernels.hopper.kernel import kernel_of
from cuda_kernels.matmul.choose.choice import choose
from cuda_kernels.matmul.choose.wanted import Wanted
from simlayout.hardware.tables.arch import FEATURES, target_of
from simlayout.kernel import Problem


def programs(cases, capability, gpu):
    """The programs (as of `cuda_kernels.build.cache.compiled`) of some Cases on a GPU of this compute capability with these
    Figures; what matmul chooses where there is no wgmma is left out.

    >>> from cuda_kernels.bench.sets import cases_of
    >>> from cuda_kernels.matmul.choose.figures import H200
    >>> {p.kernel.options.out for p in programs(cases_of(["layers"]), (9, 0), H200)}
    {'bf16'}
    """
    of_cases = [_program(case, capability, gpu) for case in cases if case.kernel != TRITON]
    return [p for p in of_cases if p is not None]


def wanted_of(product):
    """What `matmul` or, of groups, `grouped_matmul` wants a configuration for, given a Product."""
    majors = "K" if product.order[0] == "N" else "MN", "K" if product.order[1] == "T" else "MN"
    return Wanted(product.M, product.N, product.K, max(1, product.groups), *majors, (product.dtype, product.dtype),
                  product.out, product.scaled, epilogue=product.epilogue, grouped=product.groups > 0)


def _program(case, capability, gpu):
    p = case.problem
    kernel = None if case.kernel == "auto" else as_kernel(case.kernel)
    if (kernel.needs if kernel else FEATURES["wgmma"]).on(capability):
        wanted = wanted_of(p)
        majors = wanted.a_major, wanted.b_major
        chosen = None if kernel else choose(wanted, gpu)
        taken = kernel and kernel.taking(wanted.types, p.out, majors, wanted.scaled, wanted.epilogue)
        suited = taken or kernel_of(chosen)
        rows, cols = (p.M, p.N) if suited.majors[2] == "N" else (p.N, p.M)          # lines of C are rows: else its transpose
        return Program(suited.fitted(Problem(rows, cols, p.K, sms=gpu.sms)).compiled_as, target_of(capability))
    return None
