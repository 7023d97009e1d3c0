"""What the cases of a benchmark launch, so that it can be compiled ahead."""

from cuda_kernels.bench.sets import TRITON
from cuda_kernels.kernels.hopper.epilogue import EPILOGUES
from cuda_kernels.kernels.hopper.scaling import scales_named
from cuda_kernels.matmul.choose.wanted import Wanted
from cuda_kernels.matmul.finish import Finish
from cuda_kernels.matmul.steps import GroupedSteps, HopperSteps, steps_for
from cuda_kernels.matmul.tune.asked import arrays_without_gaps


def programs(cases, cuda, use_kept=True):
    """The programs (as of `cuda_kernels.build.cache.compiled`) of some Cases on the first GPU of a Cuda, which can run them:
    `matmul` takes its steps for such arrays, and these programs, in place of handles of what they compile to. use_kept:
    whether what tuning has kept is used."""
    found = []
    for case in cases:
        p = case.problem
        if case.kernel != TRITON:
            steps, kernel = steps_for(case.kernel, cuda, 0, (p.dtype, p.dtype), p.out, dict.fromkeys("abc", True), False,
                                      scales_named(p.scaled), Finish(EPILOGUES[p.epilogue]), use_kept,
                                      GroupedSteps if p.groups else HopperSteps)
            steps.handle = lambda program, name: found.append(program)
            steps.fits = lambda kernel, problem: True    # the driver is asked with a handle
            steps.build(*arrays_without_gaps((p.M, p.N, p.K), p.order, (p.dtype, p.dtype, p.out), groups=p.groups), kernel)
    return found


def wanted_of(product):
    """What `matmul` or, of groups, `grouped_matmul` wants a configuration for, given a Product."""
    majors = "K" if product.order[0] == "N" else "MN", "K" if product.order[1] == "T" else "MN"
    return Wanted(product.M, product.N, product.K, max(1, product.groups), *majors, (product.dtype, product.dtype),
                  product.out, product.scaled, epilogue=product.epilogue, grouped=product.groups > 0)
