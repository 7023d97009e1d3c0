"""Fragments of MFMA and WMMA against AMD's matrix instruction calculator.

It is github.com/ROCm/amd_matrix_instruction_calculator, and no package: AMD_MATRIX_CALCULATOR names its file,
matrix_calculator.py, and tests are skipped without it; it needs the package tabulate. It knows CDNA3, RDNA3 and RDNA4.
"""

import csv
import os
import re
import subprocess
import sys

import pytest
from tiers import sweep_but

from simlayout.hardware.matrix.mfma import AMD_FRAGMENTS

CALCULATOR = os.environ.get("AMD_MATRIX_CALCULATOR")
pytestmark = pytest.mark.skipif(not CALCULATOR, reason="AMD_MATRIX_CALCULATOR names no matrix_calculator.py")

DEEPER = ("16x16x32_f16", "16x16x32_bf16", "32x32x16_f16", "32x32x16_bf16", "16x16x64_i8", "32x32x32_i8", "f8f6f4")
"""Of CDNA4, which it does not know."""

KEYS = [key for key in AMD_FRAGMENTS if not any(name in key[0] for name in DEEPER)]
FEW = [("v_mfma_f32_16x16x16_f16", "A"), ("v_mfma_f32_32x32x8_f16", "D"), ("v_wmma_f32_16x16x16_f16_w32_gfx12", "B")]
_REGISTER = re.compile(r"v\[?(\d+)(?::\d+\])?\{(\d+)\}(?:\.\[(\d+):(\d+)\])?")


def told(name, operand, bits):
    """{(block, row, column): {(lane, value), ...}} of an operand, as the calculator prints it."""
    arch = "rdna4" if name.endswith("gfx12") else "rdna3" if "wmma" in name else "cdna3"
    instruction = re.sub(r"_w32(_gfx12)?$", "", name)
    out = subprocess.run([sys.executable, CALCULATOR, "--architecture", arch, "--instruction", instruction, "--csv",
                          "--register-layout", f"--{operand}-matrix"], capture_output=True, text=True, check=True).stdout
    places, block, columns = {}, 0, []
    for cells in csv.reader(out.splitlines()):
        if cells and cells[0].startswith("Block"):
            block = int(cells[0].split()[1])
        elif cells and "[" in cells[0]:
            columns = [int(c) for c in cells[1:]]
        elif cells and cells[0].isdigit():
            for column, cell in zip(columns, cells[1:], strict=True):
                places[block, int(cells[0]), column] = {
                    (int(lane), (int(low) if low else 0) // bits + int(register) * 32 // bits)
                    for register, lane, low, _ in _REGISTER.findall(cell)}
    return places


@pytest.mark.parametrize("key", sweep_but(FEW, KEYS), ids=" ".join)
def test_fragments_are_where_amds_calculator_has_them(key):
    fragment, (name, operand) = AMD_FRAGMENTS[key], key
    bits = {"f64": 64, "f32": 32, "tf32": 32, "s32": 32, "f16": 16, "bf16": 16}.get(fragment.dtype, 8)
    rows = fragment.shape[0] // (2 if "2b" in name else 1)
    held = {}
    for lane, values in enumerate(fragment.coordinates().tolist()):
        for value, (row, column) in enumerate(values):
            held.setdefault((row // rows, row % rows, column), set()).add((lane, value))
    assert held == told(name, operand, bits)
