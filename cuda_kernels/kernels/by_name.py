"""The kernels by name."""

from pathlib import PurePath

from cuda_kernels.kernels.gemm import Gemm
from cuda_kernels.kernels.hgemm import hgemm
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.kernels.hopper.kernel import HOPPER_KERNELS, kernel_of
from cuda_kernels.kernels.tutorial import tutorial
from cuda_kernels.kernels.warptile import warptile
from simlayout.errors import SimlayoutError, brief
from simlayout.kernel import Kernel
from simlayout.wording import meant


class Kernels(dict[str, Kernel]):
    """Kernels by name. A name that is not among them is refused with the known ones, and with what is near."""

    def __getitem__(self, name):
        if isinstance(name, str) and name in self:
            return super().__getitem__(name)
        file = "; files are run by `simlayout run`" if PurePath(str(name)).suffix else ""
        raise SimlayoutError(f"unknown kernel {brief(name)}{meant(name, self)}; known: {', '.join(self)}{file}")

    def __repr__(self):
        """Their names.

        >>> Kernels(list(KERNELS.items())[:2])
        <kernels: mma_base, mma_padded>
        """
        return f"<kernels: {', '.join(self)}>"


MMA_KERNELS = {**hgemm.KERNELS, **tutorial.KERNELS}
"""Those of mma.sync whose threads compute every address: f16, A and B by K."""

KERNELS = Kernels({**MMA_KERNELS, warptile.KERNEL.name: warptile.KERNEL, **HOPPER_KERNELS})
"""All GEMM kernels, that on CUDA cores and those for Hopper too."""


def named(name, options=None):
    """The kernel called `name`, with other options where they are given; SimlayoutError with the known names otherwise.

    >>> named("mma_permuted").plan.access("load A").analyze().wavefronts[0].item()
    4
    >>> named("wgmma_tma") is KERNELS["wgmma_tma"]
    True
    """
    return KERNELS[name] if options is None else KERNELS[name].with_options(options)


def as_kernel(kernel):
    """A Kernel from what users pass: a name, a Kernel or a Hopper configuration; SimlayoutError for anything else.

    >>> as_kernel("mma_base").name, as_kernel(Hopper(tile_m=64)).plan.tile[0]
    ('mma_base', 64)
    """
    if isinstance(kernel, str):
        return named(kernel)
    if isinstance(kernel, Hopper):
        return kernel_of(kernel)
    if not isinstance(kernel, Gemm):
        raise SimlayoutError(f"kernel is {type(kernel).__name__}: pass a name, a Kernel or a Hopper configuration")
    return kernel
