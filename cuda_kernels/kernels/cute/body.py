"""The body of every `Atoms`, whose instructions and index functions are the choices."""

from cuda_kernels.intrinsics import (
    b32,
    bar_sync,
    ctaid_x,
    ctaid_y,
    dynamic_shared,
    f32,
    mma_sync,
    register_array,
    st_global_f32,
    tid_x,
    u64,
)
from cuda_kernels.intrinsics.matrices import ldmatrix_sync
from cuda_kernels.kernels.common import copy_by_halves, copy_through_registers, element, valid_bytes
from cuda_kernels.kernels.cute.plan import SIDE, WARP_ROWS, copy_along, copy_line
from simlayout.hardware import mma_of


def make_load(name):
    """load(registers, first, address): an ldmatrix of 1, 2 or 4 matrices into as many registers from `first` on."""
    ldmatrix = ldmatrix_sync(name)

    def load_1(registers, first, address):
        registers[first] = ldmatrix(address)

    def load_2(registers, first, address):
        registers[first], registers[first + 1] = ldmatrix(address)

    def load_4(registers, first, address):
        registers[first], registers[first + 1], registers[first + 2], registers[first + 3] = ldmatrix(address)

    return {"x1": load_1, "x2": load_2, "x4": load_4}[name.split(".")[1]]


def make_multiply(name):
    """multiply(acc, j, ra, rb, n): 16 x 8 of C, number j of the warp's, += A times number n of B's fragments."""
    mma = mma_sync(name)

    def multiply_k8(acc, j, ra, rb, n):
        acc[j, 0], acc[j, 1], acc[j, 2], acc[j, 3] = mma(ra[0], ra[1], rb[n], acc[j, 0], acc[j, 1], acc[j, 2], acc[j, 3])

    def multiply_k16(acc, j, ra, rb, n):
        acc[j, 0], acc[j, 1], acc[j, 2], acc[j, 3] = mma(ra[0], ra[1], ra[2], ra[3], rb[2 * n], rb[2 * n + 1],
                                                         acc[j, 0], acc[j, 1], acc[j, 2], acc[j, 3])

    return multiply_k8 if mma_of(name).k == 8 else multiply_k16


def make_copy(operand, aligned):
    """copy(smem, tid, source, mn0, extent, k0, K, leading): 64 x 64 of a matrix, zeros where it has ended.

    mn0, extent: the first row of A (or B) and how many there are; k0, K: the same along k; leading: elements per line.
    """
    index, _ = operand.index
    copy_16 = copy_through_registers if aligned else copy_by_halves
    pieces = operand.copy.domain["i"]

    def copy_lines(smem, tid, source, line0, lines, along0, length, leading):
        for i in range(pieces):
            line, along = line0 + copy_line(tid, i), along0 + copy_along(tid)
            copy_16(smem + index(tid, i), element(source, line, leading, along), valid_bytes(line, lines, along, length))

    def copy_k(smem, tid, source, mn0, extent, k0, K, leading):
        copy_lines(smem, tid, source, mn0, extent, k0, K, leading)

    def copy_mn(smem, tid, source, mn0, extent, k0, K, leading):
        copy_lines(smem, tid, source, k0, K, mn0, extent, leading)

    return copy_k if operand.major == "K" else copy_mn


def make_body(atoms):
    """The kernel's Python function, of `cuda_kernels.kernels.gemm.SIGNATURE`: leading dimensions count the elements from
    line to line of A and B as they are stored; C is f32, row-major."""
    copy_a, copy_b = make_copy(atoms.a, atoms.aligned), make_copy(atoms.b, atoms.aligned)
    index_a, index_b = atoms.a.index[1], atoms.b.index[1]
    of_a, of_b = atoms.a.choice, atoms.b.choice
    load_a, load_b = make_load(of_a.instruction), make_load(of_b.instruction)
    copies_a, matrices_a, registers_a = of_a.copies, of_a.matrices, len(of_a.feeds)
    copies_b, matrices_b, registers_b = of_b.copies, of_b.matrices, len(of_b.feeds)
    multiply, repeats = make_multiply(of_a.mma), of_b.repetitions[0]
    steps, across, mmas = SIDE // of_a.tile[1], SIDE // of_b.tile[0], SIDE // 8

    def multiply_step(smem, tid, ks, acc, ra, rb):
        for copy in range(copies_a):                  # matrix i of a tile is register i, of its first mma, then the next
            load_a(ra, copy * matrices_a, smem + index_a(tid, ks, copy))
        for j in range(across):
            for copy in range(copies_b):
                load_b(rb, copy * matrices_b, smem + index_b(tid, j, ks, copy))
            for n in range(repeats):
                multiply(acc, j * repeats + n, ra, rb, n)

    def gemm(a, b, c, M, N, K, lda, ldb, ldc):
        row0, col0 = ctaid_y() * SIDE, ctaid_x() * SIDE
        tid, smem = tid_x(), dynamic_shared()
        acc = register_array((mmas, 4), f32)
        ra = register_array((registers_a,), b32)
        rb = register_array((registers_b,), b32)
        for j in range(mmas):
            for r in range(4):
                acc[j, r] = 0
        for chunk in range((K + SIDE - 1) // SIDE):
            copy_a(smem, tid, a, row0, M, chunk * SIDE, K, lda)
            copy_b(smem, tid, b, col0, N, chunk * SIDE, K, ldb)
            bar_sync()
            for ks in range(steps):
                multiply_step(smem, tid, ks, acc, ra, rb)
            bar_sync()                                # the tiles may be overwritten
        for j in range(mmas):
            for r in range(4):
                row = row0 + WARP_ROWS * (tid // 32) + tid % 32 // 4 + 8 * (r // 2)
                col = col0 + 8 * j + 2 * (tid % 4) + r % 2
                if row < M and col < N:
                    st_global_f32(c + u64(4) * (u64(row) * u64(ldc) + u64(col)), acc[j, r])

    return gemm
