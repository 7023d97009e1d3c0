"""8 x 8 matrices of 16-bit elements and fragments in registers: ldmatrix, stmatrix, movmatrix, mma, lane by lane.

A register is an array [32] of unsigned integers, or of floats where an instruction's operands are; a uniform number counts
as one. Both front ends call these with a Warp: kernels in Python by the twins of their instructions, PTX by its steps.
"""

from functools import lru_cache

import numpy as np

from simlayout.algebra.dtypes import TYPES
from simlayout.hardware.tables.arch import LANES


def distribute(rows):
    """uint8 [8x, 16] -> x registers [32]: lane l gets the two b16 of row l // 4, columns 2 (l % 4) and + 1.

    >>> register, = distribute(np.arange(128, dtype=np.uint8).reshape(8, 16))
    >>> hex(register[5])
    '0x17161514'
    """
    return tuple(rows.view(np.uint32).reshape(-1, LANES))


def collected(registers):
    """x registers [32] -> uint8 [8x, 16] rows: the inverse of `distribute`."""
    words = np.stack([np.broadcast_to(np.asarray(r), (LANES,)).astype(np.uint32) for r in registers])
    return words.reshape(-1, 4).view(np.uint8)


def transposed(rows):
    """uint8 [8x, 16], x matrices of b16 by rows -> the same by columns."""
    matrices = rows.view(np.uint16).reshape(-1, 8, 8)
    return np.ascontiguousarray(matrices.transpose(0, 2, 1)).reshape(-1, 8).view(np.uint8)


def load_matrices(warp, name, address):
    """ldmatrix of a name such as "ldmatrix.x2.trans": its registers. address: of lane 8m + r that of row r of matrix m."""
    rows = warp.shared_rows(name, address)
    return distribute(transposed(rows) if name.endswith(".trans") else rows)


def store_matrices(warp, name, address, registers):
    """stmatrix of a name such as "stmatrix.x4"; address as of `load_matrices`."""
    rows = collected(registers)
    warp.shared_store_rows(name, address, transposed(rows) if name.endswith(".trans") else rows)


def moved(register):
    """movmatrix.trans: the register of a matrix as that of its transpose."""
    return distribute(transposed(collected((register,))))[0]


# ---- mma -------------------------------------------------------------------------------------------------------------


@lru_cache(None)
def mma(name, selector=0):
    """What the mma of a name makes of registers: called with those of A, of B, of C, returns those of D; that of an mma.sp
    takes the metadata, too. Its attribute `registers` says how many there are of D, A, B, C and metadata.

    name: one of `simlayout.numerics.TENSOR_OPS`, of mma.sync or mma.sp; selector: of mma.sp. A register is [32] or uniform:
    the bits of packed elements, or f32, f64 and s32 where these are the types of the elements. Raises InstructionError for
    an unknown name.

    >>> one = np.full(32, 0x3C003C00)                    # two f16
    >>> made = mma("m16n8k8.f32.f16.f16.f32")(one, one, one, *[np.ones(32, np.float32)] * 4)
    >>> len(made), made[0][:3].tolist()
    (4, [9.0, 9.0, 9.0])
    """
    from simlayout.numerics import warp_mma

    multiply = warp_mma(name, selector=selector)
    op, operands, of_c = multiply.op, sum(multiply.registers[:2]), sum(multiply.registers[:3])
    operand_word, word = _word(op.a), _word(op.d)

    def product(*registers):
        words = np.empty((1, of_c + op.sparse, LANES), multiply.word)
        _fill(words[0, :operands].view(operand_word), registers[:operands])
        _fill(words[0, operands:of_c].view(word), registers[operands:of_c])
        if op.sparse:
            _fill(words[0, of_c:], registers[of_c:])
        return tuple(multiply(words)[0].view(word))

    product.registers = multiply.registers[3], *multiply.registers[:3], *[1] * op.sparse
    return product


def _word(dtype):
    """The NumPy dtype of a register with elements of a type."""
    return TYPES[TYPES[dtype].register].plain


def _fill(rows, registers):
    """Writes registers, each [32] or uniform, into [registers, 32]."""
    try:
        np.concatenate(registers, out=rows.reshape(-1), casting="unsafe")
    except ValueError:                                        # a uniform one has no axis
        for row, register in zip(rows, registers, strict=True):
            row[:] = np.asarray(register).astype(row.dtype)
