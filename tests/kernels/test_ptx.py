"""The kernels as machine code: no spills, the instructions that the plan names, and addresses as cheap as by hand."""

import re

import numpy as np
import pytest
from machine_code import ARCH, assembled, assert_in_registers, needs_tools, of_class
from tiers import sweep_but

from cuda_kernels import KERNELS
from simlayout.codegen import identifier

pytest.importorskip("numba.cuda", reason="needs numba-cuda: pip install 'simlayout[test]'")

from cuda_kernels.build.compile import bound_kernel, ptx, signature
from cuda_kernels.intrinsics import tid_x
from cuda_kernels.intrinsics.instruction import instruction


@needs_tools
@pytest.mark.sweep
def test_wmma_becomes_the_instructions_of_ldmatrix_and_mma(tmp_path):
    made = []
    for loads in ("wmma", "ldmatrix"):
        said, opcodes = assembled(ptx(KERNELS["mma_blocks"].variant(loads=loads), ARCH), tmp_path)
        assert_in_registers(said)
        made.append({name: of_class(opcodes, name) for name in ("LDSM", "HMMA", "STS", "LDS", "MOVM", "LDGSTS")})
    assert made[0] == made[1]


LOADS = {"mma_permuted": {"4": 4 * 2, "2": 8 * 2}, "mma_base": {"4": 8, "2": 16}, "mma_crosswise": {"4": (4 + 4) * 2}}
"""Of some kernels: {matrices of an ldmatrix: how many of these a K step has}."""


@needs_tools
@pytest.mark.parametrize("name", sweep_but(["mma_permuted"], LOADS))
def test_a_kernel_keeps_its_values_in_registers(name, tmp_path):
    said, opcodes = assembled(ptx(KERNELS[name], ARCH), tmp_path)
    assert_in_registers(said)
    assert of_class(opcodes, "LDL") == of_class(opcodes, "STL") == of_class(opcodes, "CALL") == 0
    for width, per_step in LOADS[name].items():                    # once in the loop, and again around it
        count = sum(n for opcode, n in opcodes.items() if re.fullmatch(rf"LDSM\.16\.M(T)?88\.{width}", opcode))
        assert count and count % per_step == 0, opcodes
    per_step = KERNELS[name].plan.mma_instructions() // KERNELS[name].plan.warps
    assert of_class(opcodes, "HMMA") and of_class(opcodes, "HMMA") % per_step == 0
    assert of_class(opcodes, "LDGSTS") and of_class(opcodes, "STS") and of_class(opcodes, "LDS")
    registers = int(re.search(r"Used (\d+) registers", said)[1])
    assert registers * KERNELS[name].block <= 65536


# ---- emitted addresses against those a careful author writes by hand ------------------------------------------------

def permuted_load_a(tid, i, ks, stage):
    """mma_permuted.cu's load of A: rows of 32 halves, 16-byte chunks rotated by the row."""
    row, col = 64 * (tid // 64) + 16 * i + tid % 16, 16 * ks + 8 * (tid % 32 // 16)
    return 2 * (row * 32 + (col + tid % 16 % 8 // 2 * 8) % 32) + stage * 24576


def crosswise_load_a(tid, i, ks, stage):
    """The tutorial's load of A: two rows per line of 64 halves, the column XORed with the line."""
    row, col = 64 * (tid // 64) + 16 * i + tid % 16, 16 * ks + 8 * (tid % 32 // 16)
    line = row // 2
    return 2 * (line * 64 + ((row % 2 * 32 + col) ^ ((line & 3) << 3))) + stage * 8192


NOT_ARITHMETIC = ("LDC", "ULDC", "MOV", "UMOV", "S2R", "S2UR", "CS2R", "STG", "EXIT", "BRA", "NOP", "R2UR")


def integer_instructions(function, folder):
    """SASS instructions that a kernel spends on function(tid, i, ks, stage), all but tid arguments of the kernel."""
    @instruction("st.global.b32 [$0], $1;", "<- u64 b32")
    def st_global_b32(warp, address, value):
        """Where the address goes."""

    def body(out, i, ks, stage):
        st_global_b32(out, function(tid_x(), i, ks, stage))

    from numba import cuda

    text, _ = cuda.compile_ptx(bound_kernel(body), signature("u64 s32 s32 s32"), cc=(9, 0, "a"))
    _, opcodes = assembled(text, folder)
    assert of_class(opcodes, "STG") == 1
    return sum(n for opcode, n in opcodes.items() if opcode.split(".")[0] not in NOT_ARITHMETIC)


BY_HAND = {"mma_permuted": permuted_load_a, "mma_crosswise": crosswise_load_a}


@needs_tools
@pytest.mark.parametrize("name", sweep_but(["mma_permuted"], BY_HAND))
def test_an_emitted_address_costs_no_more_than_one_written_by_hand(name, tmp_path):
    by_hand = BY_HAND[name]
    access = KERNELS[name].plan.access("load A")
    module = __import__(f"cuda_kernels.emitted.{name}", fromlist=[name])
    emitted = getattr(module, identifier(access.name))
    assert np.array_equal(np.broadcast_to(by_hand(*access.points()), access.offsets().shape), 2 * access.offsets())

    def narrowed(tid, i, ks, stage):
        return by_hand(tid, i, ks, stage)

    narrowed.access_name = "by hand"                          # 32-bit unsigned in and out, as for emitted functions
    counts = {label: integer_instructions(function, tmp_path) for label, function in
              (("emitted", emitted), ("by hand, unsigned", narrowed), ("by hand, as Python", by_hand))}
    print(f"{name} load A, SASS integer instructions: {counts}")
    assert counts["emitted"] <= counts["by hand, unsigned"] <= counts["by hand, as Python"]
