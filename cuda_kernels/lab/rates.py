"""Clocks that an mma instruction takes on this GPU: `python -m cuda_kernels.lab.rates`.

Every SM runs 1 to 16 warps, each with 16 independent accumulators and nothing but mma in its loop; the SM's own
clock counter times it, so clock frequency and power limit do not matter. The smallest clocks per instruction over
the warp counts is the rate in `simlayout.hardware.tables.rates`.
"""

import json
from dataclasses import dataclass

import numpy as np

from cuda_kernels.bench.command import ended_by, recording_parser_of, where_and_when
from cuda_kernels.build.compile import bound_kernel, signature
from cuda_kernels.intrinsics import b32, clock64, ctaid_x, f32, register_array, st_global_b128, tid_x, u32, u64
from cuda_kernels.kernels import common
from cuda_kernels.run.device import gpu_problem
from simlayout.errors import DeviceError
from simlayout.files import write_whole
from simlayout.hardware.tables.arch import LANES

TURNS, CHAINS = 500, 16
NAMES = {
    "m16n8k16.f32.f16.f16.f32": (4, f32, common.multiply_f32, 1),
    "m16n8k16.f16.f16.f16.f16": (2, b32, common.multiply_f16, 1),
    "m16n8k8.f32.f16.f16.f32": (4, f32, common.multiply_f32_k8, 2),
}
"""mma name -> (accumulator registers, their type, the device function that multiplies, its mma instructions)."""


@dataclass(frozen=True)
class Rate:
    """clocks per instruction and SM, by number of warps on the SM."""

    name: str
    clocks: dict


def make_body(name):
    """The kernel: out[cta, tid] = clocks of TURNS x CHAINS mma instructions (and something of the accumulators)."""
    registers, scalar, multiply, _ = NAMES[name]

    def timed(out, zero):
        acc = register_array((CHAINS, 1, registers), scalar)
        ra = register_array((1, CHAINS, 4), b32)
        rb = register_array((1, 1, 2), b32)
        for i in range(CHAINS):
            for r in range(registers):
                acc[i, 0, r] = 0
            for r in range(4):
                ra[0, i, r] = zero
        rb[0, 0, 0] = zero
        rb[0, 0, 1] = zero
        start = clock64()
        for _ in range(TURNS):
            for i in range(CHAINS):
                multiply(acc, i, 0, ra, rb, 0)
        clocks = clock64() - start
        total = acc[0, 0, 0]
        for i in range(1, CHAINS):
            total += acc[i, 0, 0]
        st_global_b128(out + u64(16) * u64(ctaid_x() * 1024 + tid_x()), u32(clocks), u32(total), u32(0), u32(0))

    return timed


def measure(name):
    """The Rate of an mma instruction on this GPU."""
    problem = gpu_problem()
    if problem:
        raise DeviceError(problem)
    from numba import cuda

    kernel = cuda.jit(signature("u64 s32"))(bound_kernel(make_body(name)))
    sms = cuda.get_current_device().MULTIPROCESSOR_COUNT
    out = cuda.to_device(np.zeros((sms, 1024, 4), np.uint32))
    clocks = {}
    for warps in (1, 2, 4, 8, 16):
        for _ in range(3):
            kernel[sms, LANES * warps](np.uint64(out.__cuda_array_interface__["data"][0]), np.int32(0))
        cuda.synchronize()
        elapsed = out.copy_to_host()[:, : LANES * warps, 0].max(axis=1)
        clocks[warps] = float(np.median(elapsed)) / (warps * TURNS * CHAINS * NAMES[name][3])
    return Rate(name, clocks)


def main(arguments=None):
    """Prints one line per instruction and, with --json, writes the record."""
    parser = recording_parser_of("cuda_kernels.lab.rates", __doc__)
    options = parser.parse_args(arguments)
    rates = {name: measure(name).clocks for name in NAMES}
    for name, clocks in rates.items():
        print(f"{name}: {min(clocks.values()):.4f} clocks per instruction and SM; by warps per SM: {clocks}")
    if options.json:
        record = {**where_and_when("cuda_kernels.lab.rates", arguments), "clocks_by_warps": rates}
        write_whole(options.json, json.dumps(record, indent=1))


if __name__ == "__main__":
    ended_by(main)
