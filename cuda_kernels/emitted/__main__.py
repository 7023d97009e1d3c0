"""`python -m cuda_kernels.emitted`: proves every access of every GEMM and writes its index functions here.

Those of the exercises (`cuda_kernels.kernels.practical` and `.cute`) are emitted when they are first used.
"""

from argparse import ArgumentParser
from pathlib import Path

from cuda_kernels.kernels import MMA_KERNELS
from cuda_kernels.kernels.hopper import accesses, mma_tma_plan
from cuda_kernels.kernels.warptile import warptile
from simlayout.codegen import emit, module_source
from simlayout.files import write_whole


def sources():
    """The text of every emitted module, {module name: source}; raises VerificationError if a proof fails."""
    made = {}
    for emits in (*(kernel.emits() for kernel in MMA_KERNELS.values()), accesses.EMITTED, mma_tma_plan.EMITTED,
                  warptile.KERNEL.emits()):
        for module, uses in emits.items():
            emitted = [emit(a, unit="bytes") for a in uses]
            made[module] = module_source(f"Index functions of {module}, in bytes.", emitted)
    return made


def write(folder=None):
    """Writes all modules, each whole or not at all; returns the paths."""
    folder = Path(folder) if folder else Path(__file__).parent
    paths = []
    for name, source in sources().items():
        paths.append(folder / f"{name}.py")
        write_whole(paths[-1], source)
    return paths


def main(arguments=None):
    """Writes the modules and prints their paths, where no more is asked."""
    ArgumentParser("python -m cuda_kernels.emitted", description=__doc__.split(": ", 1)[1]).parse_args(arguments)
    for written in write():
        print(written)


if __name__ == "__main__":
    main()
