"""Every kind of wgmma.sp on a GPU, bit for bit against `simlayout.mma`: sums, metadata, where operands lie.

    python -m cuda_kernels.conformance.products.wgmma_sp [--seed S] [--tiles T] [--only TEXT ...] [--json FILE]
                                                          [--record FILE.npz]

A warpgroup runs one instruction on fresh random tiles of every class in `cases`, with random metadata, for each
sparsity selector, with A in shared memory and in registers. All bits must be equal. Exit status 1 if any result differs.
"""

from dataclasses import dataclass

import numpy as np

from cuda_kernels.bench.command import ended_by
from cuda_kernels.conformance.products.cases import classes, stored_part, tiles
from cuda_kernels.conformance.products.common import check_gpu, ended, pack, parser_with, raw, selected, unpack
from simlayout.algebra.dtypes import TYPES
from simlayout.hardware import Descriptor, fragment, metadata_registers, operand_addresses, sparse_mma
from simlayout.numerics import mma, tensor_op
from simlayout.numerics.rules import SPARSE_WGMMA

THREADS = 128

KEPT = 4
"""A record keeps every so many-th tile of the narrowest instructions, of one selector and way."""

ENTRY = """.version 8.4
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 tiles[];
.visible .entry wgmma_sp(
    .param .u64 image,
    .param .u64 a,
    .param .u64 metadata,
    .param .u64 d)
{{
    .reg .pred p, more;
    .reg .b32 %t, %c, %thread, %at, %end, %base, %m, %x<4>, %a<4>, %d<{registers}>;
    .reg .f32 %f<{registers}>;
    .reg .b64 %image, %from, %pa, %pm, %pd, %da, %db;
    ld.param.u64 %image, [image];
    ld.param.u64 %pa, [a];
    ld.param.u64 %pm, [metadata];
    ld.param.u64 %pd, [d];
    mov.u32 %t, %tid.x;
    mov.u32 %c, %ctaid.x;
    mad.lo.u32 %thread, %c, 128, %t;
    mad.wide.u32 %image, %c, {image_bytes}, %image;
    shl.b32 %at, %t, 4;
    mov.u32 %base, tiles;
COPY:
    setp.ge.u32 more, %at, {image_bytes};
    @more bra COPIED;
    cvt.u64.u32 %from, %at;
    add.u64 %from, %from, %image;
    ld.global.v4.b32 {{%x0, %x1, %x2, %x3}}, [%from];
    add.u32 %end, %base, %at;
    st.shared.v4.b32 [%end], {{%x0, %x1, %x2, %x3}};
    add.u32 %at, %at, 2048;
    bra COPY;
COPIED:
    fence.proxy.async.shared::cta;
    bar.sync 0;
    shr.u32 %base, %base, 4;
    cvt.u64.u32 %da, %base;
    add.u64 %db, %da, {b_descriptor};
    add.u64 %da, %da, {a_descriptor};
    mad.wide.u32 %pa, %thread, 16, %pa;
    ld.global.v4.b32 {{%a0, %a1, %a2, %a3}}, [%pa];
    mad.wide.u32 %pm, %thread, 4, %pm;
    ld.global.b32 %m, [%pm];
    mad.wide.u32 %pd, %thread, {d_bytes}, %pd;
{loads}
    setp.eq.u32 p, 0, 0;
    wgmma.fence.sync.aligned;
    {opcode} {{{d}}}, {a}, %db, %m, {selector}, p{immediates};
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
{stores}
    ret;
}}
"""
"""A CTA copies the image of its operands to shared memory, multiplies, and leaves D where C was."""


@dataclass(frozen=True)
class Row:
    """One instruction compared. a: where A was, "shared" or "registers"; outputs, wrong: elements of D; first: the class of
    the first tile that is wrong, or ""."""

    instruction: str
    selector: int
    a: str
    outputs: int
    wrong: int
    first: str


def descriptors(name):
    """(Descriptor of A, of B), which lie behind one another without a swizzle, K-major: 8 rows of 16 bytes at a time."""
    op = tensor_op(name)
    a, b = (bytes_of(op.a, k) * 8 for k in (op.stored, op.k))
    return Descriptor(0, 128, a, 0), Descriptor(64 * a // 8, 128, b, 0)


def bytes_of(dtype, elements):
    """Bytes of so many elements."""
    return TYPES[dtype].bits * elements // 8


def text_of(name, selector, a):
    """The PTX of the kernel `wgmma_sp` for one instruction; a: where A is, "shared" or "registers"."""
    op, registers = tensor_op(name), fragment(name, "D").registers
    kind, letter = ("f32", "f") if op.d == "f32" else ("b32", "d")
    d = [f"%{letter}{i}" for i in range(registers)]
    of_a, of_b = descriptors(name)
    signs = ["1", "1"] if TYPES[op.a].exponent else []
    orders = ["0"] * (1 + (a == "shared")) if TYPES[op.a].bits == 16 else []
    return ENTRY.format(
        registers=registers, d_bytes=4 * registers, d=", ".join(d), selector=selector, opcode=sparse_mma(name).opcode,
        image_bytes=image_bytes(name), a_descriptor=of_a.encode(), b_descriptor=of_b.encode(),
        a="%da" if a == "shared" else "{%a0, %a1, %a2, %a3}", immediates="".join(f", {i}" for i in signs + orders),
        loads="\n".join(f"    ld.global.{kind} {register}, [%pd+{4 * i}];" for i, register in enumerate(d)),
        stores="\n".join(f"    st.global.{kind} [%pd+{4 * i}], {register};" for i, register in enumerate(d)))


def image_bytes(name):
    """Bytes of A and B in shared memory."""
    op = tensor_op(name)
    return 64 * bytes_of(op.a, op.stored) + op.n * bytes_of(op.b, op.k)


def image(name, a, b):
    """What shared memory holds of tiles a [tiles, 64, k / 2] and b [tiles, k, n]: uint8 [tiles, bytes]."""
    op, made = tensor_op(name), np.zeros((len(a), image_bytes(name)), np.uint8)
    for descriptor, x in zip(descriptors(name), (a, b.swapaxes(1, 2))):
        at = operand_addresses(descriptor, *x.shape[1:], op.a, "K")
        size = x.dtype.itemsize
        made[:, at[..., None] + np.arange(size)] = np.ascontiguousarray(x).view(np.uint8).reshape(*x.shape, size)
    return made


def run_probe(name, selector, where, a, b, c, metadata, gpu=True):
    """d [tiles, 64, n] of an instruction on tiles, by the kernel: on the GPU, or on the CPU machine. where: A is, "shared"
    or "registers"; metadata: nibbles [tiles, 64, groups]."""
    registers = np.array([metadata_registers(name, nibbles, selector) for nibbles in metadata])
    d = pack(name, "D", c)
    arrays = [image(name, a, b), pack(name, "A", a), registers, d]
    text = text_of(name, selector, where)
    if gpu:
        from cuda_kernels.conformance.foreign.launch import launch

        launch(text, "wgmma_sp", (len(a), 1, 1), (THREADS, 1, 1), arrays, image_bytes(name))
    else:
        from simlayout import ptx

        ptx.load(text)["wgmma_sp"].run(len(a), THREADS, *arrays, shared_bytes=image_bytes(name))
    return unpack(name, d, c.dtype)


def ways(name):
    """[(sparsity selector, where A is)] of an instruction."""
    return [(selector, a) for selector in range(sparse_mma(name).selectors) for a in ("shared", "registers")]


def measure(names, count, seed, gpu):
    """Rows of instructions, printed as they come, and {"name/a": raw bits ...} of some tiles of the narrowest."""
    rows, arrays = [], {}
    for name in names:
        a, b, c, labels = tiles(name, max(count * 8 // tensor_op(name).n, len(classes(name))), seed)
        a, metadata = stored_part(name, a, seed)
        expected = mma(name, a, b, c, metadata=metadata)
        for selector, where in ways(name):
            d = run_probe(name, selector, where, a, b, c, metadata, gpu)
            wrong = raw(d) != raw(expected)
            first = str(labels[wrong.any(axis=(1, 2))][0]) if wrong.any() else ""
            rows.append(Row(name, selector, where, d.size, int(wrong.sum()), first))
            print(f"{name:<42}{selector:>3}  {where:<10}{d.size:>10}{wrong.sum():>8}  {first}".rstrip(), flush=True)
        if tensor_op(name).n == 8:
            few = slice(0, len(classes(name)), KEPT)
            arrays |= {f"{name}/{word}": raw(np.ascontiguousarray(x[few])) for word, x in (
                ("a", a), ("b", b), ("c", c), ("metadata", metadata), ("d", d))}
    return rows, arrays


def main(arguments=None):
    """Prints the table; returns the exit status."""
    module = "cuda_kernels.conformance.products.wgmma_sp"
    options = parser_with(module, __doc__, ("--tiles", 100), "of N 8, and as many columns of wider ones",
                          "some tiles of the narrowest").parse_args(arguments)
    names = selected(options.only, SPARSE_WGMMA, "SPARSE_WGMMA in simlayout.numerics.rules")
    check_gpu(options)
    rows, arrays = measure(names, options.tiles, options.seed, not options.cpu)
    return ended(module, arguments, options, rows, arrays, "ways")


if __name__ == "__main__":
    ended_by(main)
