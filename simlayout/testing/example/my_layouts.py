"""The shared memory of a small GEMM, as a kernel's author might write it down: three tiles and what the warps do to them.

Four warps compute a tile of C, 128 x 64, in steps of 32 along k. cp.async brings A and B as f16, ldmatrix reads them, and C
leaves as f32, in halves of 64 rows, through a padded tile. `test_my_layouts.py` beside this file tests it.
"""

import simlayout as sl

# ---- A: 128 x 32 f16, rows of 64 bytes, so that two rows share the 128 bytes that all banks together hold ------------

A_DOMAIN = {"row": 128, "col": 32}


def a_tile(row, col):
    """The offset of A's element: its chunk of 8, numbered from 0 to 3, is XORed with the number of the pair of rows."""
    return row * 32 + (col ^ (((row >> 1) & 3) << 3))


COPY_A = sl.Access("copy A", "cp.async.cg.16", a_tile, lambda tid, i: (32 * i + tid // 4, 8 * (tid % 4)),
                   {"tid": 128, "i": 4}, "f16")
LOAD_A = sl.Access("load A", "ldmatrix.x4", a_tile,
                   lambda tid, m, k: (32 * (tid // 32) + 16 * m + tid % 16, 16 * k + 8 * (tid % 32 // 16)),
                   {"tid": 128, "m": 2, "k": 2}, "f16")


def load_a_offset(tid, m, k):
    """LOAD_A as the kernel computes it: all but k before its loop, then one XOR for each step."""
    row, half = 32 * (tid // 32) + 16 * m + tid % 16, tid % 32 // 16
    at_first = row * 32 + ((half ^ ((row >> 1) & 3)) << 3)
    return at_first ^ (k << 4)


# ---- B: 32 x 64 f16, k down its rows, so that ldmatrix transposes it; row r is rotated by r chunks ---------------------

B_TILE = sl.Rotation(8, 8, 64) @ sl.Layout((32, 64), (64, 1))

COPY_B = sl.Access("copy B", "cp.async.cg.16", B_TILE, lambda tid, i: (16 * i + tid // 8, 8 * (tid % 8)),
                   {"tid": 128, "i": 2}, "f16")
LOAD_B = sl.Access("load B", "ldmatrix.x4.trans", B_TILE,
                   lambda tid, n, k: (16 * k + tid % 16, 16 * n + 8 * (tid % 32 // 16)),
                   {"tid": 128, "n": 4, "k": 2}, "f16")

# ---- C: 64 x 64 f32, rows 8 elements longer than they need be -----------------------------------------------------------

C_TILE = sl.Layout((64, 64), (72, 1))

STORE_C = sl.Access("store C", "st.shared.b64", C_TILE,
                    lambda tid, h, n: (16 * (tid // 32) + 8 * h + tid % 32 // 4, 8 * n + 2 * (tid % 4)),
                    {"tid": 128, "h": 2, "n": 8}, "f32")
READ_C = sl.Access("read C", "ld.shared.b128", C_TILE, lambda tid, i: (8 * i + tid // 16, 4 * (tid % 16)),
                   {"tid": 128, "i": 8}, "f32")

ACCESSES = (COPY_A, LOAD_A, COPY_B, LOAD_B, STORE_C, READ_C)
