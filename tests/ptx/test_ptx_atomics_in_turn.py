"""Atomics of integers by lanes that meet at few places or at many: each finds what those before it left."""

import numpy as np
import pytest
from hypothesis import strategies as st
from ptx_texts import module
from tiers import given_few

import simlayout as sl

BODY = """.shared .align 8 .b8 smem[256];
ld.param.u64 %rd1, [kernel_param_0]; ld.param.u64 %rd2, [kernel_param_1]; ld.param.u64 %rd3, [kernel_param_2];
mov.u32 %r1, %tid.x; mul.wide.u32 %rd4, %r1, 4; add.u64 %rd2, %rd2, %rd4; ld.global.u32 %r2, [%rd2];    // its place
mul.wide.u32 %rd4, %r1, 8; add.u64 %rd3, %rd3, %rd4; ld.global.b64 %rd5, [%rd3];                         // its operand
mul.wide.u32 %rd6, %r2, 8; add.u64 %rd1, %rd1, %rd6; cvt.u32.u64 %r3, %rd6; mov.u32 %r4, smem; add.u32 %r3, %r3, %r4;
cvt.u32.u64 %r5, %rd5;
ld.global.b64 %rd7, [%rd1]; st.shared.b64 [%r3], %rd7; bar.warp.sync -1;
atom.{space}.{operation}.{type} {found}, [{at}], {operand};
cvt.u64.u{bits} %rd8, {found}; st.global.b64 [%rd3], %rd8;
ld.{space}.b64 %rd7, [{at}]; bar.warp.sync -1; st.global.b64 [%rd1], %rd7; ret;"""


def left(operation, type, held, operand):
    """What Python's integers make of two that are held as bits."""
    bits = int(type[1:])
    value = {"add": held + operand, "and": held & operand, "or": held | operand, "xor": held ^ operand}
    if operation in value:
        return value[operation] % (1 << bits)

    def signed(x):
        return x - (x >> bits - 1 << bits) if type[0] == "s" else x
    return {"min": min, "max": max}[operation](held, operand, key=signed)


@pytest.mark.parametrize("space", ["global", "shared"])
@pytest.mark.parametrize("operation, type", [
    ("add", "u32"), ("add", "s32"), ("add", "u64"), ("and", "b32"), ("or", "b64"), ("xor", "b32"), ("min", "s32"),
    ("max", "u32"), ("min", "u64"), ("max", "s64")])
@given_few(4, 12, seed=st.integers(0, 9), places=st.lists(st.integers(0, 31), min_size=1, max_size=32) |
           st.lists(st.integers(0, 2), min_size=1, max_size=32))
def test_each_lane_finds_what_those_before_it_at_its_place_left(space, operation, type, places, seed):
    bits, rng = int(type[1:]), np.random.default_rng(seed)
    operands = rng.integers(0, 1 << bits, len(places), np.uint64, endpoint=False) if bits < 64 else (
        rng.integers(0, (1 << 64) - 1, len(places), np.uint64, endpoint=True))
    cells = rng.integers(0, 1 << 31, 32).astype(np.uint64)
    expected, found = cells.tolist(), []
    for place, operand in zip(places, operands.tolist(), strict=True):
        found.append(expected[place])
        expected[place] = left(operation, type, expected[place], operand)
    register, operand = ("%r6", "%r5") if bits == 32 else ("%rd8", "%rd5")
    body = BODY.format(space=space, operation=operation, type=type, bits=bits, found=register, operand=operand,
                       at="%rd1" if space == "global" else "%r3").replace("cvt.u64.u64 %rd8, %rd8;", "")
    sl.ptx.load(module(body, ["u64"] * 3)).entry().run(1, len(places), cells, np.array(places, np.uint32), operands,
                                                       hazards="off")
    assert operands.tolist() == found and cells.tolist() == expected
