"""Lesson 8: TMA, descriptors, wgmma."""

import numpy as np

from simlayout import plots
from simlayout.algebra import Layout, Swizzle
from simlayout.hardware import OperandTile, TensorMap, fragment
from simlayout.lessons.exercises.answers import Exercise, Refused, Right
from simlayout.lessons.exercises.fragments import pair_of
from simlayout.lessons.exercises.said import Said
from simlayout.proofs import prove_operand

TILE = Swizzle(3, 3, 3) @ Layout((64, 64), (64, 1))
B_MAP = TensorMap("f16", (4096, 4096), (8192,), (64, 128), swizzle=128)
B_AT = 4096
"""The shared byte address of the tile of B in 8.2."""

WGMMA = "wgmma.m64n64k16.f32.f16.f16"
ELEMENT = 37, 21
"""Of D, in 8.3."""


def judge_box(answer):
    """8.1: the tensor map whose box lies as the tile does."""
    if not isinstance(answer, TensorMap):
        raise Refused("an sl.TensorMap is asked for, not {}", repr(answer))
    if answer.dims != (4096, 4096) or answer.strides != (8192,) or answer.dtype != "f16":
        raise Refused("the matrix has f16 elements, dims (4096, 4096) and strides (8192,) in bytes; the map has {}, {} "
                      "and {}", answer.dtype, answer.dims, answer.strides)
    if answer.shape != TILE.shape:
        raise Refused("the box has {} rows of {} elements, the tile 64 of 64", *answer.shape)
    at, expected = answer.offsets(), 2 * TILE(*np.indices(TILE.shape))
    if (at != expected).any():
        row, col = (int(i) for i in np.argwhere(at != expected)[0])
        raise Refused("element (row {}, col {}) of the box lands at byte {}, and the tile has it at {}", row, col,
                      at[row, col], expected[row, col])
    return Right(draw=lambda: plots.tma(answer))


def judge_descriptors(answer):
    """8.2: the descriptors of the instructions along K."""
    if not isinstance(answer, list | tuple) or len(answer) != 4:
        raise Refused("a list of 4 descriptors is asked for, not {}", repr(answer))
    certificate = prove_operand(B_MAP, [((0, 0), B_AT)], answer, 128)
    return Right(certificate.claims[-1], lambda: plots.draw(plots.operand_panel(OperandTile(128, 64, "f16"), "B", 8)))


def judge_thread(answer):
    """8.3: who holds an element of wgmma's D."""
    d = fragment(WGMMA, "D")
    thread, value = pair_of(answer, d.lanes, d.values)
    element = tuple(int(x) for x in d(thread, value))
    if element != ELEMENT:
        raise Refused("value {} of thread {} (warp {}, lane {}) is element {} of D, not {}", value, thread, thread // 32,
                      thread % 32, element, ELEMENT)
    return Right(draw=lambda: plots.fragment(d, range(ELEMENT[0] // 16 * 16, ELEMENT[0] // 16 * 16 + 16)))


EXERCISES = {
    "8.1": Exercise(Said("an sl.TensorMap whose box lies as Sw<3,3,3> o (64,64):(64,1)"), judge_box),
    "8.2": Exercise(Said("4 descriptors of 128 columns of B at byte {}, in their order along K", B_AT), judge_descriptors),
    "8.3": Exercise(Said("(thread, value) of element {} of D of m64n64k16", ELEMENT), judge_thread),
}
