"""What CuTe DSL says of Blackwell's shared memory descriptors, a line for each: `type order swizzle rows|descriptor|layout`.

A program of its own, because CuTe DSL asks for the architecture once in a process. test_blackwell.py runs it.
"""

import os

os.environ["CUTE_DSL_ARCH"] = "sm_100a"

import cutlass  # noqa: E402 (the architecture first)
import cutlass.cute as cute  # noqa: E402
from cutlass.cute.nvgpu import tcgen05  # noqa: E402
from cutlass.cute.nvgpu.tcgen05 import helpers  # noqa: E402

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
            tell(name, kind, atom, 128)
