"""wmma of 16 x 16 x 16 (PTX ISA: wmma.load, wmma.mma, wmma.store): a warp's tiles by their address and stride alone.

What they do is `simlayout.machine.engine.wmma`, as an sm_90 does it; a test compares it with what ptxas makes of the text.
"""

from functools import lru_cache

from cuda_kernels.intrinsics.instruction import Instruction, listed, taking
from simlayout.errors import InstructionError

SHAPE = "m16n16k16"


@lru_cache(None)
def wmma_load(operand, dtype, layout, space="shared"):
    """The instruction that loads a 16 x 16 matrix: `load(address, stride)` in a kernel gives its registers.

    operand: "a", "b" or "c"; dtype: "f16" or "bf16", of C "f16" or "f32"; layout: "row" or "col", which of its lines are
    contiguous; space: "shared" (a u32 address) or "global" (u64). stride: elements from one line to the next. Address and
    stride are the same in all lanes; the address is 32-byte aligned, the stride a multiple of 16 bytes.

    >>> wmma_load("b", "f16", "col").text
    'wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 {$0, $1, $2, $3, $4, $5, $6, $7}, [$8], $9;'
    """
    matrix, tile, address_type = _matrix(operand, dtype, layout, space, f"load.{operand}")
    n = matrix.fragment.registers
    text = (f"wmma.load.{operand}.sync.aligned.{layout}.{SHAPE}.{space}.{dtype} "
            f"{listed(0, n)}, [${n}], ${n + 1};")

    def twin(warp, address, stride):
        return tuple(matrix.load(tile(warp, address), stride))

    return Instruction(f"wmma_load_{operand}_{dtype}_{layout}_{space}", text, ("f32" if dtype == "f32" else "b32",) * n,
                       (address_type, "s32"), twin, converged=True)


@lru_cache(None)
def wmma_store(dtype, layout, space="shared"):
    """The instruction that stores D: `store(address, stride, *registers)` in a kernel; the rest as of `wmma_load`.

    >>> wmma_store("f32", "row").text
    'wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [$0], {$2, $3, $4, $5, $6, $7, $8, $9}, $1;'
    """
    matrix, tile, address_type = _matrix("d", dtype, layout, space, "store.d")
    n = matrix.fragment.registers
    text = f"wmma.store.d.sync.aligned.{layout}.{SHAPE}.{space}.{dtype} [$0], {listed(2, n)}, $1;"

    def twin(warp, address, stride, *registers):
        matrix.store(tile(warp, address), stride, registers)

    return Instruction(f"wmma_store_{dtype}_{layout}_{space}", text, (),
                       (address_type, "s32", *("f32" if dtype == "f32" else "b32",) * n),
                       taking(["address", "stride", *(f"d{i}" for i in range(n))], twin), converged=True)


@lru_cache(None)
def wmma_mma(a_layout="row", b_layout="col", dtype="f16", result="f32"):
    """The instruction D = A B + C: `mma(*registers of A, of B, of C)` in a kernel gives those of D. On sm_90 it is two
    mma.m16n8k16 on the registers as they are.

    >>> wmma_mma(dtype="bf16").text[:69]
    'wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32 {$0, $1, $2'
    """
    from simlayout.machine.engine.wmma import product

    count_a, count_b = (_matrix(x, dtype, layout, "shared", f"load.{x}")[0].fragment.registers
                        for x, layout in (("a", a_layout), ("b", b_layout)))
    count_c = 8 if result == "f32" else 4
    types = f"{result}.{result}" if dtype == "f16" else f"{result}.{dtype}.{dtype}.{result}"
    counts = count_c, count_a, count_b, count_c
    groups = [listed(sum(counts[:i]), count) for i, count in enumerate(counts)]
    names = [f"{letter}{i}" for letter, count in zip("abc", counts[1:]) for i in range(count)]
    multiply, kind = product(SHAPE, a_layout, b_layout, (result, dtype, dtype, result)), "f32" if result == "f32" else "b32"

    def twin(warp, *registers):
        return tuple(multiply(*registers))

    return Instruction(f"wmma_mma_{a_layout}_{b_layout}_{dtype}_{result}",
                       f"wmma.mma.sync.aligned.{a_layout}.{b_layout}.{SHAPE}.{types} {', '.join(groups)};",
                       (kind,) * count_c, ("b32",) * (count_a + count_b) + (kind,) * count_c, taking(names, twin),
                       ordered=False, converged=True)


def _matrix(operand, dtype, layout, space, name):
    """(Matrix, the class of its tile in memory, the type of its address)."""
    from simlayout.machine.engine.wmma import Matrix, PointedTile, SharedTile

    kinds = ("f16", "bf16") if operand in "ab" else ("f16", "f32")
    if dtype not in kinds or layout not in ("row", "col") or space not in ("shared", "global"):
        raise InstructionError(f"wmma {name} of {dtype}, {layout}, {space}: types are {' and '.join(kinds)}, layouts "
                               "row and col, spaces shared and global")
    return Matrix(SHAPE, name, dtype, layout), *((SharedTile, "u32") if space == "shared" else (PointedTile, "u64"))
