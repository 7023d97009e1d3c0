"""How many clocks of one SM an mma instruction takes, when the tensor cores are kept full."""

from dataclasses import dataclass

from simlayout.arguments import typed
from simlayout.errors import InstructionError, brief
from simlayout.hardware.tables.arch import DEFAULT_ARCH
from simlayout.hardware.tables.provenance import Provenance


@dataclass(frozen=True)
class MmaRate:
    """`clocks` per warp instruction and SM (all four tensor cores busy), and where the number comes from."""

    clocks: float
    source: Provenance


def _measured(day):
    return Provenance("measured", f"on one NVIDIA H200 (driver 580.159, CUDA 13.0), {day}, with `python -m "
                      "cuda_kernels.lab.rates`: the SM's clock over 8 to 16 warps of nothing but mma")


MMA_RATES = {
    "sm_90": {
        "m16n8k16.f32.f16.f16.f32": MmaRate(1.629, _measured("2026-11-21")),
        "m16n8k16.f16.f16.f16.f16": MmaRate(1.515, _measured("2026-11-21")),
        "m16n8k8.f32.f16.f16.f32": MmaRate(1.0455, _measured("2026-11-22")),
    },
}


@typed(InstructionError)
def mma_clocks(name: str, arch: str = DEFAULT_ARCH) -> float:
    """Clocks of one SM per warp-level mma instruction at full rate.

    >>> 1.0 < mma_clocks("m16n8k16.f32.f16.f16.f32") < 2.0
    True
    """
    try:
        return MMA_RATES[arch][name].clocks
    except KeyError:
        known = ", ".join(MMA_RATES.get(arch, {})) or "none"
        raise InstructionError(f"no mma rate known for {brief(name)} on {arch}; known: {known}") from None
