"""What CuTe DSL says of Blackwell's shared memory descriptors, a line for each: `type order swizzle rows|descriptor|layout`,
and of where its accumulators lie in TMEM: `acc M CTAs N|layout`. Of every size that it has.

A program of its own, because CuTe DSL asks for the architecture once in a process. test_blackwell.py runs it.
"""

import os

os.environ["CUTE_DSL_ARCH"] = "sm_100a"

import cutlass  # the architecture first
import cutlass.cute as cute
from cutlass.cute.nvgpu import tcgen05
from cutlass.cute.nvgpu.tcgen05 import helpers

START = 0x400
TYPES = {"f16": cutlass.Float16, "bf16": cutlass.BFloat16, "e4m3": cutlass.Float8E4M3FN, "tf32": cutlass.TFloat32}
ATOMS = {"K 0": "K_INTER", "K 32": "K_SW32", "K 64": "K_SW64", "K 128": "K_SW128", "MN 0": "MN_INTER", "MN 32": "MN_SW32",
         "MN 64": "MN_SW64", "MN 128": "MN_SW128", "MN 128B_ATOM_32B": "MN_SW128_32B"}


def tell(name, kind, atom, rows):
    """Prints the descriptor of the first instruction along K of a tile of `rows` x 128 bytes."""
    element, (major, _) = TYPES[name], kind.split()
    depth = 256 // element.width

    @cute.jit
    def trace():
        shape = tcgen05.make_smem_layout_atom(getattr(tcgen05.SmemLayoutAtomKind, atom), element)
        tile = cute.tile_to_shape(shape, (rows, 4 * depth), (0, 1) if major == "K" else (1, 0))
        first = cute.composition(tile.outer, (cute.make_layout(rows), cute.make_layout(depth)))
        first = cute.make_layout((first.shape, 1), stride=(first.stride, 0))
        start = cute.make_ptr(element, START, cute.AddressSpace.smem, assumed_align=1024)
        start = cute.recast_ptr(start, tile.inner, dtype=element)
        made = tcgen05.make_umma_smem_desc(start, first, major.lower())
        cute.printf(f"{name} {kind} {rows}|" + "{}|" + str(tile.outer), helpers.smem_descriptor_to_int(made))

    trace()


for name in TYPES:
    for kind, atom in ATOMS.items():
        if (name, kind.split()[0]) != ("tf32", "MN") and "ATOM" not in kind or (name, kind) == ("tf32", "MN 128B_ATOM_32B"):
            span = next((int(bytes_) for bytes_ in kind.split()[1:] if bytes_.isdigit()), 128) or 16
            least = 8 if kind.startswith("K") else max(8, 8 * span // TYPES[name].width)
            for rows in range(least, 257, least):
                tell(name, kind, atom, rows)


def accumulator(ctas, m, n):
    """Prints where a CTA has its part of D of a dense M x N of kind::f16."""
    by, order = (tcgen05.CtaGroup.ONE, tcgen05.CtaGroup.TWO)[ctas - 1], cute.nvgpu.OperandMajorMode.K

    @cute.jit
    def trace():
        op = tcgen05.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (m, n, 16), by, tcgen05.OperandSource.SMEM, order, order)
        mma = cute.make_tiled_mma(op)
        print(f"acc {m} {ctas} {n}|{mma.make_fragment_C(mma.partition_shape_C((m, n))).layout}")

    trace()


for ctas, sizes, step in ((1, (64, 128), 8), (2, (128, 256), 16)):
    for m in sizes:
        for n in range(step, 257, step):
            accumulator(ctas, m, n)
