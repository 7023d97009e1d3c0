"""wgmma: a warpgroup multiplies tiles in shared memory into its registers, asynchronously (PTX ISA: wgmma.mma_async).

The accumulators of a warpgroup are a register array f32 [N / 2]. From the first wgmma that uses them until a wait they
belong to the tensor core: one asm statement holds the fence, all wgmma of a K step and the commit, and the waits take the
accumulators as operands, so that the compiler can put nothing between.
"""

from functools import lru_cache

import numpy as np

from cuda_kernels.ptx.instruction import Instruction
from simlayout.numerics import tensor_op


@lru_cache(None)
def wgmma_steps(name, starts_a, starts_b, trans_a=0, trans_b=0):
    """The instruction that multiplies a chunk of K: fence, a wgmma for each k-step, commit.

    name: of a wgmma with f32 accumulators, "wgmma.m64n256k16.f32.f16.f16". starts_a, starts_b: where each k-step lies in
    the tiles of A and B, bytes (`simlayout.hardware.wgmma.OperandTile.starts`). trans_a, trans_b: 1 for an operand that is
    MN-major.

    In a kernel: multiply(accumulators, descriptor of A, descriptor of B, keep). keep: 0 where the product replaces what the
    accumulators held, else it is added.
    """
    op = tensor_op(name)
    transposed = f", {trans_a}, {trans_b}" if op.k == 16 else ""
    text = [".reg .pred keep, one; .reg .b64 a, b; setp.ne.s32 keep, KEEP, 0; setp.eq.s32 one, KEEP, KEEP;",
            "wgmma.fence.sync.aligned;"]
    for i, (start_a, start_b) in enumerate(zip(starts_a, starts_b, strict=True)):
        text += [f"add.s64 a, A, {start_a >> 4}; add.s64 b, B, {start_b >> 4};",
                 f"wgmma.mma_async.sync.aligned.{name.removeprefix('wgmma.')} {{D}}, a, b, {'one' if i else 'keep'}, 1, 1"
                 f"{transposed};"]
    text.append("wgmma.commit_group.sync.aligned;")

    def twin(warp, accumulators, a, b, keep):
        warp.wgmma_fence()
        for i, (start_a, start_b) in enumerate(zip(starts_a, starts_b, strict=True)):
            warp.wgmma(name, accumulators, a + (start_a >> 4), b + (start_b >> 4), 1 if i else int(np.any(keep != 0)),
                       trans_a, trans_b)
        warp.wgmma_commit()

    body = "{ " + " ".join(text) + " }"
    return Instruction(f"wgmma_of_{len(starts_a)}_steps", body, (), (), twin, converged=True,
                       lowering=lambda: _on_registers(op.n // 2, body, ("u64", "u64", "s32"), "A B KEEP".split()))


@lru_cache(None)
def wgmma_wait_group(count, pending):
    """The instruction that waits until all but the newest `pending` groups of wgmma are done: `wait = wgmma_wait_group(128,
    0)` outside, `wait(accumulators)` in a kernel. count: accumulators per thread; 0 where none of them are to be used
    after the wait, and the instruction takes no operand."""
    text, name = f"wgmma.wait_group.sync.aligned {pending};", f"wgmma_wait_group_{pending}"
    if not count:
        return Instruction(name, text, (), (), lambda warp: warp.wgmma_wait(pending), converged=True)
    return Instruction(name, text, (), (), lambda warp, accumulators: warp.wgmma_wait(pending), converged=True,
                       lowering=lambda: _on_registers(count, text, (), ()))


def _on_registers(count, text, operands, names):
    """The Numba intrinsic of an asm statement that reads and writes `count` f32 of a register array, and takes operands.

    In `text`, D stands for the list of the registers and `names` for the operands.
    """
    from llvmlite import ir
    from numba.cuda import types
    from numba.cuda.extending import intrinsic

    from cuda_kernels.ptx.instruction import _NUMBA_NAMES, CONSTRAINTS

    f32 = ir.FloatType()
    places = {"D": ", ".join(f"${i}" for i in range(count))}
    places |= {name: f"${2 * count + i}" for i, name in enumerate(names)}
    words = [places.get(w, w) for w in _words(text)]
    constraints = ["=f"] * count + [str(i) for i in range(count)] + [CONSTRAINTS[o] for o in operands] + ["~{memory}"]
    made = ir.LiteralStructType([f32] * count)

    def generate(context, builder, signature, values):
        array = context.make_array(signature.args[0])(context, builder, values[0])
        slots = [builder.gep(array.data, [ir.Constant(ir.IntType(32), i)]) for i in range(count)]
        taken = [builder.load(slot) for slot in slots] + list(values[1:])
        asm = ir.InlineAsm(ir.FunctionType(made, [v.type for v in taken]), "".join(words), ",".join(constraints),
                           side_effect=True)
        result = builder.call(asm, taken, attrs=("convergent",))
        for i, slot in enumerate(slots):
            builder.store(builder.extract_value(result, i), slot)
        return context.get_dummy_value()

    scalars = tuple(getattr(types, _NUMBA_NAMES[o]) for o in operands)

    if operands:
        def typer(typingctx, accumulators, a, b, keep):
            return types.void(accumulators, *scalars), generate
    else:
        def typer(typingctx, accumulators):
            return types.void(accumulators), generate
    return intrinsic(typer)


def _words(text):
    """The text cut at the ends of its words, so that whole words can be replaced."""
    import re

    return re.split(r"(\b)", text)
