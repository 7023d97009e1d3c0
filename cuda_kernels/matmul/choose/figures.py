"""The figures of a GPU that an estimate depends on, as the driver says them."""

from dataclasses import dataclass, replace

from cuda_kernels.run import driver
from simlayout.errors import DeviceError

ATTRIBUTES = {"sms": driver.MULTIPROCESSORS, "clock_khz": driver.CLOCK_RATE, "memory_khz": driver.MEMORY_CLOCK_RATE,
              "bus_bits": driver.MEMORY_BUS_WIDTH, "l2_bytes": driver.L2_CACHE_SIZE}
"""Figure -> the device attribute that holds it."""


@dataclass(frozen=True)
class Figures:
    """sms: streaming multiprocessors; clock_khz: their highest clock; memory_khz: the clock of DRAM, in which it transfers
    twice; bus_bits: the width of its bus; l2_bytes: of the L2 cache.

    >>> round(Figures().dram), round(FIGURES["NVIDIA H100 80GB HBM3"].dram)
    (4814, 3352)
    """

    sms: int = 132
    clock_khz: int = 1980000
    memory_khz: int = 3201000
    bus_bits: int = 6016
    l2_bytes: int = 60 << 20

    @property
    def dram(self) -> float:
        """Bytes per nanosecond that DRAM can transfer."""
        return 2 * self.memory_khz * self.bus_bits / 8 / 1e6


H200 = Figures()
"""An NVIDIA H200, as its driver says (580.159.04, 2026-11-24); the data sheet has 4.8 TB/s."""

FIGURES = {"NVIDIA H200": H200,
           "NVIDIA H100 80GB HBM3": Figures(132, 1980000, 2619000, 5120, 50 << 20)}
"""Of GPUs whose records lie in tests/data, by name; an H100 SXM's too as its driver says, with 3.35 TB/s by its data
sheet."""


def figures_of(cuda, device: int) -> Figures:
    """The Figures of a device; those that the driver does not say are an H200's. cuda: a `cuda_kernels.run.driver.Cuda`."""
    told = {name: _told(cuda, device, attribute) for name, attribute in ATTRIBUTES.items()}
    return replace(H200, **{name: number for name, number in told.items() if number})


def _told(cuda, device, attribute):
    """A device attribute; 0 where the driver refuses to say it. The runtime says no clocks any more since CUDA 13.0."""
    try:
        return cuda.attribute(device, attribute)
    except DeviceError:
        return 0
