"""Answers to the exercises, right and wrong: what the lessons themselves do not contain."""

from written_source import changed

import simlayout as sl
from cuda_kernels.intrinsics import (
    bar_sync,
    cp_async_cg_16,
    cp_async_commit_group,
    cp_async_wait_group,
    dynamic_shared,
    ld_global_b32,
    ld_shared_b32,
    st_global_b32,
    st_shared_b32,
    tid_x,
)
from simlayout.hardware import Descriptor, choose_ldmatrix

OPERAND = sl.OperandTile(128, 64, "f16")
B_OF_TWO = choose_ldmatrix("m16n8k16.f32.f16.f16.f32", "B", (1, 2, 1), "MN")

wait_2 = cp_async_wait_group(2)


def transposed(a, c):
    tid, smem = tid_x(), dynamic_shared()
    for i in range(16):
        row, col = 2 * i + tid // 32, tid % 32
        st_shared_b32(smem + 4 * (33 * row + col), ld_global_b32(a + 4 * (32 * row + col)))
    bar_sync()
    for i in range(16):
        row, col = 2 * i + tid // 32, tid % 32
        st_global_b32(c + 4 * (32 * row + col), ld_shared_b32(smem + 4 * (33 * col + row)))


STORED = "33 * row + col"
LOADED = "33 * col + row"

transposed_by_xor = changed(transposed, (STORED, "32 * row + (col ^ row)"), (LOADED, "32 * col + (row ^ col)"))
with_conflicts = changed(transposed, (STORED, "32 * row + col"), (LOADED, "32 * col + row"))
without_barrier = changed(transposed, ("    bar_sync()\n", ""))


def copied(a, c):
    tid, smem = tid_x(), dynamic_shared()
    for i in range(16):
        at = 4 * (64 * i + tid)
        st_shared_b32(smem + at, ld_global_b32(a + at))
        st_global_b32(c + at, ld_shared_b32(smem + at))


def past_shared_memory(a, c):
    tid = tid_x()
    for i in range(16):
        row, col = 2 * i + tid // 32, tid % 32
        st_global_b32(c + 4 * (32 * row + col), ld_global_b32(a + 4 * (32 * col + row)))


def piped(a, c, chunks):
    tid, smem = tid_x(), dynamic_shared()
    for k in range(3):
        if k < chunks:
            cp_async_cg_16(smem + 1024 * k + 16 * tid, a + 1024 * k + 16 * tid)
        cp_async_commit_group()
    total = 0
    for k in range(chunks):
        wait_2()
        bar_sync()
        coming = k + 3
        if coming < chunks:
            cp_async_cg_16(smem + 1024 * (coming % 4) + 16 * tid, a + 1024 * coming + 16 * tid)
        cp_async_commit_group()
        total += ld_shared_b32(smem + 1024 * (k % 4) + 16 * (63 - tid))
    st_global_b32(c + 4 * tid, total)


COMMIT = """\
        cp_async_commit_group()
        total +="""

piped_with_commits_that_depend = changed(piped, (COMMIT, "    " + COMMIT))
piped_beyond_the_end = changed(piped, ("        if k < chunks:\n    ", ""))
piped_without_barrier = changed(piped, ("        bar_sync()\n", ""))
piped_in_order = changed(piped, ("16 * (63 - tid)", "16 * tid"))


def added_without_copies(a, c, chunks):
    tid = tid_x()
    total = 0
    for k in range(chunks):
        total += ld_global_b32(a + 1024 * k + 16 * (63 - tid))
    st_global_b32(c + 4 * tid, total)


def padded(text):
    for old, new in (("tile[4096]", "tile[4224]"), ("shl.b32 \t%r11, %r8, 7", "mul.lo.s32 \t%r11, %r8, 132"),
                     ("shl.b32 \t%r19, %r4, 7", "mul.lo.s32 \t%r19, %r4, 132"), ("+1024]", "+1056]"), ("+2048]", "+2112]"),
                     ("+3072]", "+3168]")):
        text = text.replace(old, new)
    return text


RIGHT = {
    "1.1": [lambda lane: 32 * lane, [4 * (lane % 4 + 32 * (lane // 4)) for lane in range(32)]],
    "1.2": [sl.Layout((32, 32), (33, 1)), sl.Layout((32, 32), (35, 1))],
    "1.3": [lambda row, col: 32 * row + (col ^ row), lambda row, col: 32 * row + (col + row) % 32, sl.Rotation(1, 32, 32)],
    "2.1": [lambda lane: 16 * (lane // 4 * 2 + lane % 2), lambda lane: 16 * (15 - lane // 4 * 2 - lane % 2)],
    "2.2": [lambda tid, i: 4 * (32 * i + tid), lambda tid, i: 8 * tid + 4 * (i ^ tid // 4 % 2)],
    "2.3": [lambda tid, k: (2 * k + tid // 16, 2 * (tid % 16)), lambda tid, k: (k + 8 * (tid // 16), 2 * (tid % 16))],
    "3.1": [72],
    "3.2": [lambda tid: (tid % 16, 8 * (tid // 16)), choose_ldmatrix("m16n8k16.f32.f16.f16.f32", "A").address],
    "3.3": [lambda tid: (tid % 16, 8 * (tid // 16)), lambda tid: B_OF_TWO.address(tid)[::-1]],
    "4.1": [(10, 3), [10, 3]],
    "4.2": [lambda lane, value: (lane // 4 + value // 2 % 2 * 8, lane % 4 * 2 + value % 2 + value // 4 * 8),
            sl.fragment("m16n8k16.f32.f16.f16.f32", "A")],
    "4.3": [sl.Swizzle(3, 3, 3), sl.Layout((16, 64), (72, 1)), lambda row, col: 64 * row + (col + 8 * row) % 64],
    "5.1": [sl.Swizzle(1, 3, 3), "Sw<1,3,3>", sl.Swizzle(2, 3, 3), sl.Rotation(8, 2, 64),
            lambda row, col: 16 * row + (col ^ row // 4 % 2 * 8)],
    "5.2": [sl.Swizzle(2, 3, 3), sl.Swizzle(2, 3, 3) @ sl.Layout((16, 32), (32, 1)), sl.Rotation(8, 4, 64)],
    "5.3": [sl.Swizzle(1, 3, 3) @ sl.Swizzle(3, 3, 5), sl.Swizzle(3, 3, 5) @ sl.Swizzle(1, 3, 3)],
    "6.1": [40],
    "6.2": [sl.Rotation(8, 4, 64)],
    "6.3": [sl.Rotation(8, 6, 192), sl.Swizzle(1, 3, 3)],
    "7.1": ["row * 64 + (col ^ ((row & 7) << 3))", lambda row, col: 64 * row + (col ^ 8 * (row % 8))],
    "7.2": [lambda tid, i: (4 * i + tid // 8, 8 * (tid % 8))],
    "7.3": [transposed, transposed_by_xor],
    "8.1": [sl.TensorMap("f16", (4096, 4096), (8192,), (64, 64), swizzle=128)],
    "8.2": [[OPERAND.descriptor(4096).encode() + 2 * i for i in range(4)],
            [Descriptor(4096 + start, 16, 1024, 128) for start in OPERAND.starts]],
    "8.3": [(86, 9)],
    "9.1": [lambda stages: stages - 2],
    "9.2": [piped],
    "10.1": [padded],
    "10.2": [(5, 9)],
}

WRONG = {
    # exercise: [(answer, a part of its hint)]
    "1.1": [(lambda lane: 64 * lane, "lanes 0 and 2 want bank 0, with the words 0 and 32"),
            (lambda lane: 8 * lane, "lanes 0 and 16 want bank 0"), ([0] * 32, "lanes 0 and 1 have the same word, 0"),
            ([2] * 32, "lane 0 has the byte address 2"), ([1, 2], "32 integers are asked for"), ("x", "32 integers")],
    "1.2": [(sl.Layout((32, 32), (34, 1)), "lane 16 at tid = 16, k = 0: coordinate (16, 0)"),
            (sl.Layout((32, 32), (32, 1)), "lane 1 at tid = 1, k = 0: coordinate (1, 0), offset 32"),
            (sl.Layout((32, 32), (1, 1)), "second at row = 1, col = 0: offset 1"), (33, "a Layout of shape (32, 32)"),
            (sl.Layout((32, 32), (37, 1)), "leaves its 1152 elements")],
    "1.3": [(lambda row, col: 32 * row + col, "lane 1 at tid = 1, k = 0: coordinate (1, 0), offset 32"),
            (lambda row, col: 32 * row + (col | row), "second at row = 1, col = 1"),
            (lambda row, col: 33 * row + col, "at row = 31"), (7, "7 is no tile")],
    "2.1": [(lambda lane: 16 * (lane // 2), "lanes 0 and 1 have one address, 0"),
            (lambda lane: 16 * (lane & ~2), "lanes pair up, but lanes 0 and 8"),
            (lambda lane: 16 * (lane % 16), "lanes 0 and 1 (lane ^ 1) have the addresses 0 and 16"),
            (lambda lane: 0, "1 different addresses, not 16")],
    "2.2": [(lambda tid, i: 8 * tid + 4 * i, "lane 4 at tid = 4, i = 0: offset 32"),
            (lambda tid, i: 4 * tid, "the same"), (lambda tid, i: 12 * tid + 4 * i, "leaves its 256 elements smallest"),
            (lambda tid, i: tid + i, "tid = 1, i = 0: offset 1 is not"),
            (3, "a function (tid, i)")],
    "2.3": [(lambda tid, k: (tid % 16, 2 * (tid // 16) + 4 * k), "lane 1 at tid = 1, k = 0: coordinate (1, 0)"),
            (lambda tid, k: (0 * k + tid // 16, 2 * (tid % 16)), "same"),
            (lambda tid: tid, "raises TypeError")],
    "3.1": [(64, "lane 1 at tid = 1, k = 0: coordinate (1, 0)"), (80, "lane 4 at tid = 4"), (65, "cannot take"),
            (88, "at most 80"), (72.0, "is an integer")],
    "3.2": [(lambda tid: (tid % 8 + 8 * (tid // 16), 8 * (tid // 8 % 2)), "lane 8 gives the 16 bytes from (0, 8)"),
            (lambda tid: (tid, 0), "lane 16 gives"), (lambda tid: tid, "could not be tried: TypeError"),
            (1, "a function tid")],
    "3.3": [(lambda tid: (8 * (tid // 16), tid % 16), "lane 1 gives the 16 bytes from (0, 1)"),
            (lambda tid: (tid % 8 + 8 * (tid // 16), 8 * (tid // 8 % 2)), "lane 8 gives the 16 bytes from (0, 8)")],
    "4.1": [((10, 2), "value 2 of lane 10 is element (10, 4)"), ((40, 0), "lanes 0 to 31"), (10, "a pair (lane, value)")],
    "4.2": [(lambda lane, value: (lane // 4, 2 * (lane % 4) + value % 2 + 8 * (value // 2)),
             "lane 0, value 2: (0, 8) is said"),
            (lambda lane, value: (lane % 8 + value // 2 % 2 * 8, lane // 8 * 2 + value % 2 + value // 4 * 8),
             "lane 1, value 0: (1, 0) is said"), (5, "a function (lane, value)")],
    "4.3": [(sl.Layout((16, 64), (68, 1)), "lane 4 at tid = 4"), (sl.Swizzle(1, 3, 3), "coordinate (2, 0)"),
            (sl.Layout((16, 64), (80, 1)), "leaves its 1152 elements smallest"), (sl.Swizzle(3, 0, 6), "cannot take")],
    "5.1": [(sl.Swizzle(1, 3, 1), "lane 4 at tid = 4: coordinate (4, 0)"), (sl.Swizzle(0, 3, 3), "lane 0 at tid = 0"),
            (sl.Layout((16, 16), (24, 1)), "leaves its 256 elements"),
            (sl.Layout((16, 32), (32, 1)), "has the shape (16, 32)"),
            (sl.Swizzle(1, 2, 4), "cannot take"), ((1, 3, 3), "is no tile")],
    "5.2": [(sl.Swizzle(1, 3, 3), "lane 4 at tid = 4, half = 0: coordinate (4, 0)"),
            (sl.Swizzle(1, 3, 4), "lane 2 at tid = 2")],
    "5.3": [(sl.Swizzle(1, 3, 3), "'blocks (ldmatrix.x4)' has bank conflicts"),
            (sl.Swizzle(3, 3, 5), "'rows (ldmatrix.x4)' has bank conflicts"),
            (sl.Swizzle(3, 3, 3), "lane 2 at tid = 2, k = 0: coordinate (2, 0)")],
    "6.1": [(32, "lane 2 at tid = 2"), (48, "64 rows take 6144 bytes, and may take 5120"),
            (16, "rows of 32 halves overlap"), (36, "cannot take")],
    "6.2": [(sl.Rotation(8, 4, 32), "lane 4 at tid = 4"), (sl.Swizzle(2, 3, 3), "a rotation is asked for"),
            (sl.Rotation(8, 2, 64), "lane 4 at tid = 4")],
    "6.3": [(sl.Swizzle(3, 3, 3), "lane 3 at tid = 3"), (sl.Layout((24, 48), (56, 1)), "leaves its 1152 elements"),
            (sl.Swizzle(0, 3, 3), "lane 4 at tid = 4")],
    "7.1": [("row * 64 + (col ^ ((row & 3) << 3))", "right at row = 4, col = 0: offset 256"), ("row *", "as a function of"),
            (5, "a function of (row, col) or a text")],
    "7.2": [(lambda tid, i: (4 * i + tid % 4, 8 * (tid // 4)), "lane 5 at tid = 5, i = 0: coordinate (1, 8)"),
            (lambda tid, i: (tid % 16, 16 * i), "lanes 0 and 16 store to the same bytes"),
            (lambda tid, i: (4 * i + tid // 8, 8 * (tid % 8) + 64 * i), "leaves the tile"),
            (lambda tid, i: (i + tid // 8, 8 * (tid % 8)), "reads element (7, 0)")],
    "7.3": [(with_conflicts, "takes 1024 wavefronts for 32 instructions"), (without_barrier, "not defined on a GPU"),
            (copied, "c[0, 1] is"), (past_shared_memory, "does not use shared memory"), ("x", "a kernel"),
            (lambda a: None, "is given 2 arguments: too many")],
    "8.1": [(sl.TensorMap("f16", (4096, 4096), (8192,), (64, 64), swizzle=0),
             "element (row 1, col 0) of the box lands at byte 128"),
            (sl.TensorMap("f16", (4096, 4096), (8192,), (32, 64), swizzle=64), "64 rows of 32 elements"),
            (sl.TensorMap("f32", (4096, 4096), (16384,), (32, 64)), "the map has f32"), (3, "sl.TensorMap is asked for")],
    "8.2": [([Descriptor(4096 + 16 * i, 16, 1024, 128) for i in range(4)], "element (row 0, k 16) lies at byte 4128"),
            ([Descriptor(4096 + 32 * i, 16, 512, 128) for i in range(4)], "element (row 8, k 0) lies at byte 5120"),
            ([1, 2], "a list of 4 descriptors")],
    "8.3": [((85, 9), "value 9 of thread 85 (warp 2, lane 21) is element (37, 19)"), ((0, 32), "values 0 to 31")],
    "9.1": [(lambda stages: stages - 1, "stages = 2, step 0: 1 group committed, and wait_group 1 leaves 1 of them"),
            (lambda stages: 0, "stages = 3, step 0: wait_group 0 waits for chunks 0 to 1"),
            (lambda stages: stages - 3, "wait_group takes 0 or more"), (2, "a function of stages")],
    "9.2": [(piped_with_commits_that_depend, "not defined on a GPU"), (piped_beyond_the_end, "with 1 chunk: "),
            (piped_without_barrier, "nothing orders the two"), (piped_in_order, "the words of thread 63 add up to"),
            (added_without_copies, "copies with cp.async"), ("x", "a kernel")],
    "10.1": [(lambda text: text, "line 9: ld.shared.b32 takes 1024 wavefronts for 32 instructions"),
             (lambda text: text.replace("%r8, 7", "%r8, 8"), "write after write"), (lambda text: 1, "PTX is a text"),
             (lambda text: text.replace("%r4, 7", "%r4, 6"), "do stores and loads agree"), ("x", "a function of the text")],
    "10.2": [((9, 5), "which of them should come first"), ((6, 9), "that stores shared memory"),
             ((5, 6), "that loads shared memory"), (5, "a pair of lines")],
}
