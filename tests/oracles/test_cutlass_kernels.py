"""CUTLASS's own GEMMs for Hopper, as its collective builders make them, on the CPU machine: the group `oracles`, and nvcc.

Their parameters come from CUTLASS's host code, in a program that encodes no tensor maps but tells what they would be.
"""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from cutlass_wheel import INCLUDES, needs_cutlass
from nvcc import NVCC, needs_nvcc, ptx_of

import simlayout as sl

pytestmark = [needs_nvcc, needs_cutlass]
SOURCE = Path(__file__).with_name("cutlass_sm90.cu")
DIRECT = "-DCUTLASS_ENABLE_DIRECT_CUDA_DRIVER_CALL=1"    # so that the driver's function is the program's own
M, N, K = 384, 256, 192
SWIZZLES = 0, 32, 64, 128


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(PTX, {kernel: what the program tells of it})."""
    folder = tmp_path_factory.mktemp("cutlass")
    program, told = folder / "tell", {}
    options = "-arch=sm_90a", "-std=c++17", "--expt-relaxed-constexpr", "-w", f"-L{Path(NVCC).parents[1] / 'lib'}"
    subprocess.run([NVCC, *options, DIRECT, *INCLUDES, SOURCE, "-o", program], check=True)
    for line in subprocess.run([program, *map(str, (M, N, K))], capture_output=True, text=True).stdout.splitlines():
        kind, *words = line.split()
        if kind == "kernel":
            told[words[0]] = maps = []
        elif kind == "map":
            mark, address, swizzle, *box = words
            maps.append((bytes.fromhex(mark) * 128, address, SWIZZLES[int(swizzle)], [int(size) for size in box]))
        else:
            *launch, params = words
            told[next(reversed(told))] = maps, [int(word) for word in launch], bytes.fromhex(params)
    return ptx_of(SOURCE, folder, DIRECT, *INCLUDES).read_text(), told


def spliced(params, arrays, maps):
    """A struct's fields: its bytes, but pointers and tensor maps in the place of what the program put there."""
    marks = [(bytes.fromhex(address)[::-1], sl.ptx.Pointer(x)) for address, x in arrays.items()]
    marks += [(mark, sl.TensorMap.of(arrays[address][None], box, swizzle=swizzle)) for mark, address, swizzle, box in maps]
    found = sorted((at, len(mark), value) for mark, value in marks for at in places(params, mark))
    fields, end = [], 0
    for at, size, value in found:
        fields += [params[end:at], value] if at > end else [value]
        end = at + size
    return [*fields, params[end:]] if end < len(params) else fields


def places(data, mark):
    """Where some bytes begin in others, none within another."""
    at = data.find(mark)
    while at >= 0:
        yield at
        at = data.find(mark, at + len(mark))


def ran(text, told, kernel):
    """The Trace of a kernel of a PTX text, D, and what D is to be."""
    maps, (width, height, threads, shared_bytes), params = told[kernel]
    source = np.random.default_rng(1)
    a, b, c = (source.integers(-3, 4, shape).astype(np.float16) for shape in ((M, K), (N, K), (M, N)))
    d = np.zeros((M, N), np.float16)
    arrays = {f"{i}" * 15 + "0": x for i, x in enumerate((a, b, c, d), 1)}
    right = (a.astype(np.float32) @ b.astype(np.float32).T + 0.5 * c).astype(np.float16)
    entry, = (entry for name, entry in sl.ptx.load(text).entries.items() if ours(name) == kernel)
    grid = (M // 64, N // 64) if kernel == "Plain" else (width, height)     # others are persistent: one cluster does all
    trace = entry.run(grid, threads, spliced(params, arrays, maps), shared_bytes=shared_bytes, cluster=(width, height),
                      hazards="report")
    return trace, d, right


def ours(name):
    return next((kind for kind in ("Pingpong", "Cooperative") if f"WarpSpecialized{kind}" in name), "Plain")


@pytest.mark.parametrize("kernel", ["Plain", "Pingpong", "Cooperative"])
def test_cutlass_kernels_are_right_to_the_bit_and_have_neither_hazards_nor_bank_conflicts(made, kernel):
    trace, d, right = ran(*made, kernel)
    np.testing.assert_array_equal(d, right)
    assert trace.hazards == () and trace.total().excess == 0 and trace.total().wavefronts > 0


@pytest.mark.parametrize(("left_out", "kernel", "kinds"), [
    ("fence.proxy.async.shared::cta", "Plain", {"missing proxy fence"}),
    ("fence.proxy.async.shared::cta", "Pingpong", {"missing proxy fence"}),
    ("cp.async.bulk.wait_group.read", "Plain", {"early exit"}),
    ("cp.async.bulk.wait_group.read", "Pingpong", {"early exit", "early write"})])
def test_what_synchronises_them_is_missed_where_it_is_left_out(made, left_out, kernel, kinds):
    text, told = made
    fewer = "\n".join(line for line in text.splitlines() if left_out not in line)
    trace, *_ = ran(fewer, told, kernel)
    assert {hazard.kind for hazard in trace.hazards} == kinds
