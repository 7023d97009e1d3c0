"""Matrix instructions of PTX: registers hold what the fragments say, and products have the bits of `simlayout.numerics`."""

import numpy as np
import pytest
from ptx_registers import Text, elements
from tiers import sweep_but

from simlayout.algebra.dtypes import TYPES
from simlayout.errors import AddressError, InstructionError
from simlayout.hardware import fragment, mma_of
from simlayout.hardware.matrix.wmma import FAMILIES, WMMA_FRAGMENTS
from simlayout.hardware.tables.mma import MMAS
from simlayout.numerics import mma

FEW = ["m16n8k16.f32.f16.f16.f32", "m16n8k16.f16.f16.f16.f16", "m16n8k8.f32.bf16.bf16.f32", "m16n8k4.f32.tf32.tf32.f32",
       "m8n8k4.f64.f64.f64.f64", "m16n8k32.s32.s8.u8.s32.satfinite", "m8n8k32.s32.u4.s4.s32",
       "m16n8k256.s32.b1.b1.s32.and.popc", "m8n8k128.s32.b1.b1.s32.xor.popc", "m16n8k32.f32.e4m3.e5m2.f32"]


def view_of(f):
    bits = TYPES[f.dtype].bits
    return bits if bits < 8 else TYPES[f.dtype].plain


def matrix(f, registers):
    """The matrix that registers [n, 32] of a fragment hold, raw."""
    held, at = elements(registers, view_of(f), f.per_register), f.coordinates()
    made = np.zeros(f.shape, held.dtype)
    made[at[..., 0], at[..., 1]] = held
    return ((made ^ 8) - np.uint8(8)).view(np.int8) if f.dtype == "s4" else made


def random_registers(f, generator):
    size = 8 if f.dtype == "f64" else 4
    if f.dtype in ("f32", "f64", "tf32"):
        return generator.standard_normal((f.registers, 32)).astype(f"f{size}")
    if f.dtype in ("f16", "bf16"):
        halves = generator.standard_normal((f.registers, 64)).astype(np.float32)
        return (halves.astype(np.float16) if f.dtype == "f16" else halves.view(np.uint16)[:, 1::2].copy()).view(np.uint32)
    return generator.integers(0, 1 << 32, (f.registers, 32), dtype=np.uint32)


@pytest.mark.parametrize("name", sweep_but(FEW, MMAS))
def test_an_mma_multiplies_what_its_fragments_hold(name):
    generator = np.random.default_rng(1)
    fragments = {x: fragment(name, x) for x in "ABCD"}
    given = {x: random_registers(fragments[x], generator) for x in "ABC"}
    text = Text()
    types = {x: TYPES[f.dtype].register for x, f in fragments.items()}
    groups = [text.load(x, fragments[x].registers, types[x]) for x in "ABC"]
    d = text.group("D", fragments["D"].registers, types["D"])
    text.add(f"{mma_of(name).opcode} {d}, {', '.join(groups)};")
    text.store("D", fragments["D"].registers, types["D"])
    out = np.zeros((fragments["D"].registers, 32), given["C"].dtype)
    text.entry().run(1, 32, *given.values(), out)
    a, b, c = (matrix(fragments[x], given[x]) for x in "ABC")
    assert matrix(fragments["D"], out).tobytes() == mma(name, a, b, c).tobytes()


@pytest.mark.parametrize("trans", ["", ".trans"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_ldmatrix_and_stmatrix_move_what_their_fragments_say(count, trans):
    rows = np.random.default_rng(2).integers(0, 1 << 32, (8 * count, 4), dtype=np.uint32)
    out = np.zeros((count, 32), np.uint32)
    source = np.zeros((4, 32), np.uint32)
    source[:, :8 * count] = rows.T                       # lane r has the 16 bytes of row r
    text = Text()
    words = text.load("w", 4)
    text.add(".reg .b32 %row, %other;", "mov.u32 %row, smem;", "mad.lo.u32 %row, %lane, 16, %row;",
             "add.u32 %other, %row, 512;", f"st.shared.v4.b32 [%row], {words};", "bar.warp.sync -1;")
    registers = text.group("x", count)
    text.add(f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {registers}, [%row];",
             f"stmatrix.sync.aligned.x{count}.m8n8{trans}.shared.b16 [%other], {registers};", "bar.warp.sync -1;")
    again = text.group("b", 4)
    text.add(f"ld.shared.v4.b32 {again}, [%other];")
    text.store("x", count)
    text.store("b", 4)
    again = np.zeros((4, 32), np.uint32)
    trace = text.entry(shared=1024).run(1, 32, source, out, again, hazards="report")
    f = fragment(f"ldmatrix.x{count}{trans}")
    held = np.zeros((8 * count, 8), np.uint16)
    at = f.coordinates()
    held[at[..., 0], at[..., 1]] = elements(out, np.uint16, 2)
    assert held.tobytes() == rows.tobytes()
    assert again[:, :8 * count].T.tobytes() == rows.tobytes()
    assert {c.instruction: c.instructions for c in trace.lines if "matrix" in c.instruction} == {
        f"ldmatrix.x{count}{trans}": 1, f"stmatrix.x{count}{trans}": 1}


def test_movmatrix_transposes():
    text = Text()
    given, out = text.load("a", 1), np.zeros((1, 32), np.uint32)
    moved = text.group("d", 1)
    text.add(f"movmatrix.sync.aligned.m8n8.trans.b16 {moved[1:-1]}, {given[1:-1]};")
    text.store("d", 1)
    value = np.arange(64, dtype=np.uint16).view(np.uint32).reshape(1, 32)
    text.entry().run(1, 32, value, out)
    assert (out.view(np.uint16).reshape(8, 8) == np.arange(64).reshape(8, 8).T).all()


SHAPES = {(f"m{m}n{n}k{k}", t): (m, n, k) for m, n, k, types, *_ in FAMILIES for t in types}


def loads(f):
    """What ptxas makes of a wmma.load or store from shared memory (13.0, sm_90a): {instruction: how often}, with the sizes
    of registers and of what lanes hold side by side."""
    _, shape, dtype, layout = f.name.split(".")
    bits, operand = TYPES[dtype].bits, f.operand
    distinct = f.registers // f.copies
    along = {"load.a": "row", "load.b": "col"}.get(operand) or ("col" if shape == "m8n32k16" else "row")
    if operand in ("load.a", "load.b") and bits <= 16:
        if layout != along and bits == 8:
            return {"ld.shared.b8": 4 * distinct}
        lines = f.shape[operand == "load.b"]
        each = distinct // 2 if lines == 32 else distinct
        return {f"ldmatrix.x{each}{'.trans' * (layout != along)}": distinct // each}
    op = "st" if operand == "store.d" else "ld"
    if operand in ("load.a", "load.b"):
        return {f"ld.shared.b{bits}": distinct}
    if bits == 16:
        return {f"{op}.shared.b32": distinct}
    return {f"{op}.shared.b{2 * bits}": distinct // 2} if layout == along else {f"{op}.shared.b{bits}": distinct}


SOME = [key for key in WMMA_FRAGMENTS if key[0] in (
    "wmma.m16n16k16.f16.row", "wmma.m16n16k16.f32.col", "wmma.m32n8k16.s8.col", "wmma.m8n32k16.f16.row",
    "wmma.m8n8k4.f64.col")]


@pytest.mark.parametrize("key", sweep_but(SOME, WMMA_FRAGMENTS), ids=" ".join)
def test_wmma_moves_what_its_fragment_says_with_the_instructions_that_ptxas_makes(key):
    f = WMMA_FRAGMENTS[key]
    _, shape, dtype, layout = f.name.split(".")
    kind, operand = f.operand.split(".")
    bits, register = TYPES[dtype].bits, TYPES[dtype].register
    stride = (f.shape[layout == "row"] * bits // 128 + 1) * 128 // bits      # elements from line to line: whole 16 bytes
    lines = f.shape[layout == "col"]
    nbytes = lines * stride * bits // 8
    memory = np.random.default_rng(3).integers(0, 256, -(-nbytes // 128) * 128, dtype=np.uint8)
    memory = memory if dtype != "f64" else np.random.default_rng(3).standard_normal(memory.size // 8).view(np.uint8)
    text, words = Text(), memory.size // 128
    text.load("w", words)
    text.add(".reg .b32 %to;", "mov.u32 %to, smem;", "mad.lo.u32 %to, %lane, 4, %to;",
             *[f"st.shared.b32 [%to+{128 * i}], %w{i};" for i in range(words)], "bar.warp.sync -1;")
    form = f"wmma.{kind}.{operand}.sync.aligned.{layout}.{shape}.shared.{dtype}"
    if kind == "load":
        group = text.group("x", f.registers, register)
        text.add(f"{form} {group}, [smem], {stride};")
        text.store("x", f.registers, register)
        out = np.zeros((f.registers, 32), np.uint64 if dtype == "f64" else np.uint32)
    else:
        group = text.load("x", f.registers, register)
        text.add(f"{form} [smem], {group}, {stride};", "bar.warp.sync -1;")
        text.group("y", words)
        text.add(*[f"ld.shared.b32 %y{i}, [%to+{128 * i}];" for i in range(words)])
        text.store("y", words)
        registers = random_registers(f, np.random.default_rng(4))
        out = np.zeros((words, 32), np.uint32)
    arguments = (out,) if kind == "load" else (registers, out)
    trace = text.entry(shared=memory.size).run(1, 32, memory.view(np.uint32).reshape(words, 32), *arguments)
    made = {c.instruction: c.instructions for c in trace.by_instruction()}
    plain = {"st.shared.b32": words} | ({"ld.shared.b32": words} if kind == "store" else {})
    for name, count in loads(f).items():
        plain[name] = plain.get(name, 0) + count
    assert made == plain

    held = memory if kind == "load" else out.view(np.uint8).reshape(-1)
    each = held if bits >= 8 else (held[:, None] >> np.arange(0, 8, bits) & (1 << bits) - 1).reshape(-1)
    each = each.view(f"u{bits // 8}") if bits >= 8 else each
    whole = each[:lines * stride].reshape(lines, stride)[:, :f.shape[layout == "row"]]
    whole = whole if layout == "row" else whole.T
    got = matrix(f, out if kind == "load" else registers)
    assert (got.view(whole.dtype) if bits >= 8 else got & 15).tolist() == whole.tolist()


TYPES_OF = {"f16": ("f32", "f16"), "bf16": ("f32",), "s8": ("s32",), "u8": ("s32",), "tf32": ("f32",), "f64": ("f64",),
            "s4": ("s32",), "u4": ("s32",), "b1": ("s32",)}
PRODUCTS = [(shape, dtype, sum_) for shape, dtype in SHAPES for sum_ in TYPES_OF[dtype]]


@pytest.mark.parametrize("product", sweep_but(PRODUCTS[:1] + [("m8n32k16", "s8", "s32")], PRODUCTS), ids=" ".join)
def test_a_wmma_product_of_small_integers_is_exact(product):
    shape, dtype, total = product
    (m, n, k), generator = SHAPES[shape, dtype], np.random.default_rng(5)
    fragments = {"A": fragment(f"wmma.{shape}.{dtype}.row", "load.a"), "B": fragment(f"wmma.{shape}.{dtype}.col", "load.b"),
                 "C": fragment(f"wmma.{shape}.{total}.row", "load.c"), "D": fragment(f"wmma.{shape}.{total}.row", "store.d")}
    sizes = ("A", 2, (m, k)), ("B", 2, (k, n)), ("C", 9, (m, n))
    small = {x: generator.integers(0, most, size) for x, most, size in sizes}
    text, arguments = Text(), []
    groups = []
    for x in "ABC":
        f = fragments[x]
        arguments.append(registers_of(f, small[x]))
        groups.append(text.load(x, f.registers, TYPES[f.dtype].register))
    d = text.group("D", fragments["D"].registers, TYPES[total].register)
    types = f"{total}.{total}" if dtype == "f16" else f"{total}.{dtype}.{dtype}.{total}"
    how = ".and.popc" if dtype == "b1" else ""
    text.add(f"wmma.mma{how}.sync.aligned.row.col.{shape}.{types} {d}, {', '.join(groups)};")
    text.store("D", fragments["D"].registers, TYPES[total].register)
    out = np.zeros_like(arguments[2])
    text.entry().run(1, 32, *arguments, out)
    assert (matrix(fragments["D"], out) == (small["A"] @ small["B"] + small["C"])).all()


def test_a_wmma_product_of_tf32_rounds_after_half_of_its_depth():
    shape, generator = "m16n16k8", np.random.default_rng(6)
    fragments = {x: fragment(f"wmma.{shape}.{dtype}.row", operand) for x, dtype, operand in
                 (("A", "tf32", "load.a"), ("B", "tf32", "load.b"), ("C", "f32", "load.c"), ("D", "f32", "store.d"))}
    given, text = {x: random_registers(fragments[x], generator) for x in "ABC"}, Text()
    groups = [text.load(x, fragments[x].registers, TYPES[fragments[x].dtype].register) for x in "ABC"]
    d = text.group("D", fragments["D"].registers, "f32")
    text.add(f"wmma.mma.sync.aligned.row.row.{shape}.f32.tf32.tf32.f32 {d}, {', '.join(groups)};")
    text.store("D", fragments["D"].registers, "f32")
    out = np.zeros_like(given["C"])
    text.entry().run(1, 32, *given.values(), out)
    a, b, c = (matrix(fragments[x], given[x]) for x in "ABC")
    for half in (slice(4), slice(4, 8)):
        c = np.hstack([mma("m16n8k4.f32.tf32.tf32.f32", a[:, half], b[half, i:i + 8], c[:, i:i + 8]) for i in (0, 8)])
    assert matrix(fragments["D"], out).tobytes() == c.tobytes()


def registers_of(f, values):
    """Registers [n, 32] of a fragment for a matrix of small integers."""
    bits, at = TYPES[f.dtype].bits, f.coordinates()
    held = values[at[..., 0], at[..., 1]]                # [32, values]
    if f.dtype == "bf16":
        raw = (held.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    elif bits < 8:
        shifted = held.astype(np.uint32).reshape(32, f.registers, -1) << np.arange(0, 32, bits, dtype=np.uint32)
        return np.bitwise_or.reduce(shifted, axis=2).T.copy()
    else:
        raw = held.astype(TYPES[f.dtype].plain)
    word = {"f64": np.float64, "f32": np.float32}.get(f.dtype, np.uint32)
    return np.ascontiguousarray(np.ascontiguousarray(raw).view(word).reshape(32, f.registers).T)


@pytest.mark.parametrize(("instruction", "reason"), [
    ("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0,%r1,%r2,%r3}, {%r0,%r1}, {%r2,%r3}, "
     "{%r0,%r1,%r2,%r3}, %r1, 0x4;", "sparsity selectors 0 to 3, not 4"),
    ("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%r0,%r1,%r2,%r3}, {%r0,%r1}, {%r2,%r3}, {%r0,%r1,%r2,%r3};",
     "order of its sums is not established"),
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0,%r1}, {%r0,%r1}, {%r2,%r3}, {%r0,%r1,%r2,%r3};",
     "2 registers where it has 4"),
    ("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0,%r1}, [%r2];", "ldmatrix of .m8n8 and .b16"),
    ("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r0,%r1}, [%r2];", "2 registers"),
    ("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%r0,%r1,%r2,%r3}, %rd1, %rd2, %r1, 2, 1, 1, 1, 0, 0;",
     "sparsity selectors 0 to 1, not 2"),
    ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7},"
     "{%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7},{%r0,%r1,%r2,%r3};", "how that is rounded is not known"),
])
def test_what_is_not_established_is_refused_when_the_module_is_loaded(instruction, reason):
    text = Text()
    text.add(instruction)
    with pytest.raises(InstructionError, match=reason):
        text.entry().run(1, 32)


def test_a_wmma_that_is_not_aligned_names_its_address():
    text = Text()
    group = text.group("x", 8)
    text.add(f"wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 {group}, [smem+16], 16;", "nanosleep.u32 %x0;")
    with pytest.raises(AddressError, match="wmma at byte 16 .* must be a multiple of 32"):
        text.entry(shared=1024).run(1, 32)
