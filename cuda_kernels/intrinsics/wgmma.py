"""wgmma: a warpgroup multiplies tiles in shared memory into its registers, asynchronously (PTX ISA: wgmma.mma_async).

The accumulators of a warpgroup are a register array f32 or s32 [N / 2]. From the first wgmma that uses them until a wait
they belong to the tensor core: one asm statement holds the fence, all wgmma of a K step and the commit, and the waits take
the accumulators as operands, so that the compiler can put nothing between.
"""

from functools import lru_cache

import numpy as np

from cuda_kernels.intrinsics.instruction import Instruction, letter_of, llvm_type
from simlayout.algebra.dtypes import TYPES
from simlayout.hardware.tables.tensor_ops import tensor_op


@lru_cache(None)
def wgmma_steps(name, starts_a, starts_b, trans_a=0, trans_b=0, bands=(0,)):
    """The instruction that multiplies a chunk of K: fence, a wgmma for each k-step and band, commit.

    name: of a wgmma with f32 or s32 accumulators, "wgmma.m64n256k16.f32.f16.f16". starts_a, starts_b: where each k-step lies
    in the tiles of A and B, bytes (`simlayout.hardware.OperandTile.starts`). trans_a, trans_b: 1 for an operand that is
    MN-major. bands: where the 64 rows of A of each wgmma begin, bytes: one or two, all with the same B.

    In a kernel: multiply(accumulators of each band ..., descriptor of A, descriptor of B, keep). keep: 0 where the product
    replaces what the accumulators held, else it is added.
    """
    op = tensor_op(name)
    signs = ", 1, 1" if TYPES[op.d].exponent else ""
    transposed = f", {trans_a}, {trans_b}" if op.k == 16 else ""
    text = [".reg .pred keep, one; .reg .b64 a, b; setp.ne.s32 keep, KEEP, 0; setp.eq.s32 one, KEEP, KEEP;",
            "wgmma.fence.sync.aligned;"]
    for i, (start_a, start_b) in enumerate(zip(starts_a, starts_b, strict=True)):
        for j, band in enumerate(bands):
            text += [f"add.s64 a, A, {start_a + band >> 4}; add.s64 b, B, {start_b >> 4};",
                     f"wgmma.mma_async.sync.aligned.{name.removeprefix('wgmma.')} {{D{j}}}, a, b, "
                     f"{'one' if i else 'keep'}{signs}{transposed};"]
    text.append("wgmma.commit_group.sync.aligned;")

    def twin(warp, *operands):
        *accumulators, a, b, keep = operands
        warp.wgmma_fence()
        for i, (start_a, start_b) in enumerate(zip(starts_a, starts_b, strict=True)):
            for mine, band in zip(accumulators, bands, strict=True):
                warp.wgmma(name, mine, a + (start_a + band >> 4), b + (start_b >> 4), 1 if i else int(np.any(keep != 0)),
                           trans_a, trans_b)
        warp.wgmma_commit()

    body = "{ " + " ".join(text) + " }"
    return Instruction(f"wgmma_of_{len(starts_a)}_steps", body, (), (), twin, converged=True,
                       lowering=lambda: _on_registers(len(bands), op.n // 2, op.d, body, True))


@lru_cache(None)
def wgmma_wait_group(count, pending, arrays=1, dtype="f32"):
    """The instruction that waits until all but the newest `pending` groups of wgmma are done: `wait = wgmma_wait_group(128,
    0)` outside, `wait(accumulators)` in a kernel. count: accumulators per thread in each of one or two register arrays of
    `dtype`; 0 where none of them are to be used after the wait, and the instruction takes no operand."""
    text, name = f"wgmma.wait_group.sync.aligned {pending};", f"wgmma_wait_group_{pending}"
    if not count:
        return Instruction(name, text, (), (), lambda warp: warp.wgmma_wait(pending), converged=True)
    return Instruction(name, text, (), (), lambda warp, *accumulators: warp.wgmma_wait(pending), converged=True,
                       lowering=lambda: _on_registers(arrays, count, dtype, text, False))


def _on_registers(arrays, count, dtype, text, multiplies):
    """The Numba intrinsic of an asm statement that reads and writes `count` registers of each of one or two arrays of
    `dtype`.

    multiplies: whether it takes the operands A, B and KEEP. In `text`, D0 and D1 stand for the lists of the registers.
    """
    from llvmlite import ir
    from numba.cuda import types
    from numba.cuda.extending import intrinsic

    kind, letter, size = llvm_type(dtype), letter_of(dtype), arrays * count
    places = {f"D{j}": ", ".join(f"${i}" for i in range(j * count, (j + 1) * count)) for j in range(arrays)}
    places |= {name: f"${2 * size + i}" for i, name in enumerate(("A", "B", "KEEP"))}
    words = [places.get(w, w) for w in _words(text)]
    constraints = [f"={letter}"] * size + [str(i) for i in range(size)] + ["l", "l", "r"] * multiplies + ["~{memory}"]
    struct = ir.LiteralStructType([kind] * size)

    def generate(context, builder, signature, values):
        taken = [context.make_array(array)(context, builder, value) for array, value in zip(signature.args[:arrays], values)]
        slots = [builder.gep(array.data, [ir.Constant(ir.IntType(32), i)]) for array in taken for i in range(count)]
        read = [builder.load(slot) for slot in slots] + list(values[arrays:])
        asm = ir.InlineAsm(ir.FunctionType(struct, [v.type for v in read]), "".join(words), ",".join(constraints),
                           side_effect=True)
        result = builder.call(asm, read, attrs=("convergent",))
        for i, slot in enumerate(slots):
            builder.store(builder.extract_value(result, i), slot)
        return context.get_dummy_value()

    def typed(*accumulators):
        return types.void(*accumulators, *(types.uint64, types.uint64, types.int32) * multiplies), generate

    typers = {(1, True): lambda context, first, a, b, keep: typed(first),
              (2, True): lambda context, first, second, a, b, keep: typed(first, second),
              (1, False): lambda context, first: typed(first),
              (2, False): lambda context, first, second: typed(first, second)}
    return intrinsic(typers[arrays, multiplies])


def _words(text):
    """The text cut at the ends of its words, so that whole words can be replaced."""
    import re

    return re.split(r"(\b)", text)
