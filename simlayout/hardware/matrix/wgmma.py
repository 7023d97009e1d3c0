"""wgmma: what an instruction costs that reads its operands from shared memory (PTX ISA: Asynchronous warpgroup level matrix
instructions). Where it reads them is in `operand_tile`."""

from simlayout.arguments import typed
from simlayout.errors import InstructionError
from simlayout.hardware.tables.provenance import Provenance
from simlayout.hardware.tables.tensor_ops import tensor_op

MEASURED = Provenance("measured", "192 configurations on one NVIDIA H200 (driver 580.159, CUDA 13.0) with Nsight Compute "
                      "2025.3.1, 2026-11-21: swizzles, K- and MN-major, odd strides; 16-bit operands. Of 8 bits in whole "
                      "products (tests/data/h200_eights_counts.json), of tf32 in one of Triton's (2026-11-28)")
SPARSE = Provenance("measured", "of N 8, 64 and 256, every type, on one NVIDIA H200 (driver 580.159.04), 2026-11-30: "
                    "tests/data/h200_wgmma_sp.json")


@typed(InstructionError)
def operand_wavefronts(name: str, a: str = "shared") -> tuple[int, Provenance]:
    """(wavefronts, Provenance) with which one wgmma reads its operands: 16 for A from shared memory, N / 4 for B; N / 2 for
    the B of a wgmma.sp, which is twice as deep as what is stored of A.

    No layout changes it. a: "shared" or "registers". Raises InstructionError for what is no wgmma.

    >>> operand_wavefronts("wgmma.m64n256k16.f32.f16.f16")[0]
    80
    """
    op = _wgmma(name, a, ("wgmma", "wgmma.sp"))
    of_a = 16 if a == "shared" else 0
    if op.sparse:
        return of_a + op.n // 2, SPARSE
    return of_a + op.n // 4, MEASURED


@typed(InstructionError)
def fewest_clocks(name: str, a: str = "shared") -> int:
    """Clocks of an SM below which no wgmma stays: the larger of N / 2, for the products in its four tensor cores, and its
    operand wavefronts, one clock for each 128 bytes of shared memory. Takes the arguments of `operand_wavefronts`.

    A wgmma of n < 64 waits for its operands, wider ones hide them. Issued back to back, they took 32.7 clocks for n8, 35.6
    for n64, 68 for n128 and 133 for n256, whatever the layout (16-bit operands; one NVIDIA H200, 2026-11-21).

    >>> [fewest_clocks(f"wgmma.m64n{n}k16.f32.f16.f16") for n in (8, 64, 256)]
    [18, 32, 128]
    """
    return max(_wgmma(name, a, ("wgmma",)).n // 2, operand_wavefronts(name, a)[0])


def _wgmma(name, a, families):
    op = tensor_op(name)
    if op.family not in families or a not in ("shared", "registers"):
        raise InstructionError(f"{name} with A from {a!r}: give a wgmma, and \"shared\" or \"registers\"")
    return op
