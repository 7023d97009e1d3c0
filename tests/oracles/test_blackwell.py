"""Blackwell's descriptors, TMEM and scale factors against CUTLASS's own, which a host program prints: the group `oracles`,
and nvcc. Descriptors also against CuTe DSL's."""

import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from cutlass_wheel import SOURCE

import simlayout as sl
from simlayout.algebra.swizzle_modes import ATOM_32B, EVERY_MODE
from simlayout.hardware.matrix.descriptor import Descriptor
from simlayout.hardware.matrix.instruction_descriptor import InstructionDescriptor
from simlayout.hardware.matrix.operand_k96 import OperandK96
from simlayout.hardware.matrix.operand_tile import OperandTile
from simlayout.hardware.matrix.scale_factors import ScalesInTmem, scale_id, scale_layout
from simlayout.hardware.matrix.sparse_tmem import MetadataInTmem
from simlayout.hardware.matrix.tmem import TMEM_SHAPES, accumulator, tmem_copy, tmem_fragment
from simlayout.hardware.tables.tcgen05 import shapes_of

INCLUDE = SOURCE / "include"
needs_nvcc = pytest.mark.skipif(not INCLUDE.is_dir() or shutil.which("nvcc") is None, reason="needs nvcc and nvidia-cutlass")

LANE_BITS = 21                                       # log2 of a lane's stride in TMEM addresses of bits (TMEM::DP_b)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What CUTLASS says: {kind: [(words of the name, the other columns)]}."""
    program = tmp_path_factory.mktemp("cutlass") / "blackwell"
    source = Path(__file__).with_name("blackwell.cu")
    options = "-std=c++17", "-arch=sm_100a", "--expt-relaxed-constexpr", "-w"
    subprocess.run(["nvcc", *options, "-I", INCLUDE, source, "-o", program], check=True)
    rows = {}
    for line in subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines():
        if "|" in line:
            name, *columns = line.split("|")
            kind, *words = name.split()
            rows.setdefault(kind, []).append((words, columns))
    return rows


def layout_of(text):
    """A layout as CuTe prints it, static and dynamic sizes alike."""
    return sl.parse(text.replace("_", "").replace(" ", ""))


def used_fields(tile):
    """The fields of a tile's descriptor that an instruction needs: not LBO of a swizzled K-major tile, and no way to next
    8 rows, a next part of a row, or a next 8 k, that are none."""
    used = {"swizzle", "base_offset", "leading", "stride"}
    if tile.major == "K":
        return used - ({"leading"} if tile.swizzle else set()) - ({"stride"} if tile.rows == 8 else set())
    down, across = ("stride", "leading") if tile.swizzle else ("leading", "stride")
    deep = 4 if tile.swizzle == ATOM_32B else 8
    once = 32 // sl.dtype_of(tile.dtype).bytes <= deep
    return used - ({across} if tile.boxes == 1 else set()) - ({down} if once else set())


def assert_fields(tile, ours, theirs):
    """That two descriptors have the same of what is used."""
    used = used_fields(tile)
    assert {f: getattr(ours, f) for f in used} == {f: getattr(theirs, f) for f in used}, tile


def assert_tile(tile, text):
    """That a tile lies where a layout, as CuTe prints it, says with the swizzle of its mode."""
    size, mode = sl.dtype_of(tile.dtype).bytes, EVERY_MODE[tile.swizzle]
    row, k = np.meshgrid(np.arange(tile.rows), np.arange(tile.depth), indexing="ij")
    offset = np.asarray(layout_of(text)(row, k)) * size
    np.testing.assert_array_equal(offset ^ (offset >> mode.shift & mode.mask), tile.read(0))


def assert_accumulator(made, rows, ctas, layout):
    """That an accumulator lies where a layout from (row, column) to lane << 16 | column puts each CTA's rows."""
    places = made.places()
    row, col = np.meshgrid(np.arange(rows), np.arange(made.n), indexing="ij")
    address = np.asarray(layout(row + rows * col))
    for cta in range(ctas):
        part = places[rows * cta:rows * (cta + 1)]
        assert (part[..., 0] == cta).all()
        np.testing.assert_array_equal(part[..., 1] << 16 | part[..., 2], address)


def tile_of(dtype, major, swizzle, rows):
    """The OperandTile of those words, 128 bytes along K."""
    swizzle = swizzle if swizzle == ATOM_32B else int(swizzle)
    return OperandTile(int(rows), 128 // sl.dtype_of(dtype).bytes, dtype, major, swizzle, "tcgen05")


@needs_nvcc
def test_descriptors_and_steps_along_k_are_those_of_make_umma_desc(told):
    for words, (bits, steps, lying) in told["desc"]:
        tile = tile_of(*words)
        assert_fields(tile, tile.descriptor(0), Descriptor.decode(int(bits, 16), "tcgen05"))
        assert [int(layout_of(steps)(i)) * 16 for i in range(4)] == list(tile.starts)
        assert_tile(tile, lying)
    assert len(told["desc"]) == 74


@pytest.fixture(scope="module")
def dsl():
    """The lines that CuTe DSL tells, split."""
    if find_spec("cutlass") is None:
        pytest.skip("needs the wheel nvidia-cutlass-dsl")
    program = Path(__file__).with_name("blackwell_dsl.py")
    told = subprocess.run([sys.executable, program], check=True, capture_output=True, text=True).stdout
    return [line.split("|") for line in told.splitlines()]


def test_descriptors_are_those_of_cute_dsl_at_every_number_of_rows(dsl):
    """All that fill the swizzle, to 256."""
    lines = [line for line in dsl if len(line) == 3]
    for words, bits, lying in lines:
        tile = tile_of(*words.split())
        theirs = Descriptor.decode(int(bits) % 2**64, "tcgen05")
        assert theirs.address == 0x400
        assert_fields(tile, tile.descriptor(0x400), theirs)
        assert_tile(tile, lying)
    assert len(lines) == 670


def test_accumulators_lie_where_cute_dsl_has_them_at_every_m_and_n(dsl):
    lines = [(tuple(map(int, words.split()[1:])), text) for words, text in (line for line in dsl if len(line) == 2)]
    for (m, ctas, n), text in lines:
        assert_accumulator(accumulator(m, n, ctas), m // ctas, ctas, layout_of(text))
    sizes = {(m, ctas, n) for ctas, ws, ms, ns in shapes_of("f16") if not ws for m in ms for n in ns}
    assert sizes == {key for key, _ in lines} and len(lines) == 96


@needs_nvcc
def test_instruction_descriptors_are_those_of_make_instr_desc(told):
    for (kind, a, b, d, m, n, a_major, b_major, scale), (bits,) in told["idesc"]:
        made = InstructionDescriptor(kind, a, b, d, int(m), int(n), a_major, b_major, scale=None if scale == "-" else scale)
        assert made.encode() == int(bits, 16) and InstructionDescriptor.decode(int(bits, 16), kind) == made
    assert len(told["idesc"]) == 12


@needs_nvcc
def test_accumulators_lie_where_tmem_frg_puts_them(told):
    for (m, ctas, ws, n), (text,) in told["acc"]:
        made = accumulator(int(m), int(n), int(ctas), ws == "1")
        assert_accumulator(made, int(m) // int(ctas), int(ctas), layout_of(text))
    assert len(told["acc"]) == 30


@needs_nvcc
def test_loads_give_each_thread_what_the_copy_traits_say(told):
    for (shape, n, halves), (valid, held) in told["ld"]:
        lanes, bits = re.fullmatch(r"(\d+)dp(\d+)b", shape).groups()
        name = f"{lanes}x{bits}b" + "x2" * (shape == "16dp32b")
        made = tmem_fragment(f"tcgen05.ld.{name}.x{n}" + ".pack::16b" * (halves == "1"))
        assert name in TMEM_SHAPES
        valid, held = layout_of(valid), layout_of(held)
        width = 32 // made.per_register
        thread, value = np.meshgrid(np.arange(32), np.arange(made.values), indexing="ij")
        logical = np.asarray(held(thread + 32 * (width * value)))          # the first bit of each value: (thread, bit)
        address = np.asarray(valid(logical))
        lane, column = made(thread, value)
        np.testing.assert_array_equal(lane, address >> LANE_BITS)
        np.testing.assert_array_equal(column, (address & (1 << LANE_BITS) - 1) // 32)
    assert len(told["ld"]) == 2 * (8 + 8 + 7 + 6 + 8)


@needs_nvcc
def test_copies_from_shared_memory_go_where_the_utccp_traits_say(told):
    for (shape,), (valid, source, goal) in told["cp"]:
        copy, valid, source, goal = tmem_copy(shape), layout_of(valid), layout_of(source), layout_of(goal)
        found = {}
        every = np.arange(goal.size)
        for bit, at in zip(np.asarray(source(every)).tolist(), np.asarray(valid(goal(every))).tolist()):
            found.setdefault(bit, set()).add(at)
        for row in range(copy.rows):
            for byte in range(copy.bytes):
                # the source's bit of (row, first bit of a byte): rows are its fastest mode, refreshed ones 32 apart
                bit = row + copy.rows * 8 * byte if shape != "4x256b" else 32 * row + 128 * 8 * byte
                if shape.endswith("01_23"):
                    bit = row % 32 + 32 * 8 * byte + 4096 * (row // 32)
                places = {(at >> LANE_BITS, (at & (1 << LANE_BITS) - 1) // 32, at % 32 // 8) for at in found[bit]}
                assert places == set(copy(row, byte)), (shape, row, byte)
    assert len(told["cp"]) == 6


@needs_nvcc
@pytest.mark.parametrize("side", ["sfa", "sfb"])
def test_scale_factors_lie_in_tmem_where_tmem_sf_frg_puts_them(told, side):
    for (rows, factors, steps), (text,) in told[side]:
        rows, factors, steps, layout = int(rows), int(factors), int(steps), layout_of(text)
        scales = ScalesInTmem(rows, halves=side == "sfb")
        high, each = layout.shape[0]
        vector = each[0]
        for step in range(steps):
            for factor in range(factors):
                places = {}
                for i in range(rows * 4 // (1 + (side == "sfb"))):
                    at = int(layout(i + layout_size(high) * vector * factor + layout_size(layout.shape[0]) * step))
                    places.setdefault(i, at)
                for row in range(rows):
                    ours = scales(row, factors * step + factor)
                    found = {(lane << 18) + 4 * column + byte for lane, column, byte in ours}
                    assert found == of_row(places, row, rows, side), (rows, factors, step, row)


def layout_size(shape):
    """Elements of a shape."""
    return shape if isinstance(shape, int) else int(np.prod([layout_size(s) for s in shape]))


def of_row(places, row, rows, side):
    """The places of a row: of A (row, four copies); of B in halves (row of a half, half, two copies)."""
    if side == "sfa":
        return {places[row + rows * copy] for copy in range(4)}
    half = rows // 2
    return {places[row % half + half * (row // half) + rows * copy] for copy in range(2)}


@needs_nvcc
def test_scale_factors_lie_in_memory_where_the_config_puts_them(told):
    for kind, vector in (("sf", 32), ("nv", 16)):
        for (rows, depth), (text,) in told[kind]:
            layout, ours = layout_of(text), scale_layout(int(rows), int(depth) // vector)
            for row in range(int(rows)):
                for factor in range(int(depth) // vector):
                    assert int(layout(row, vector * factor, 0)) == int(ours(row, factor))


@needs_nvcc
def test_descriptors_of_a_sparse_a_are_those_of_a_tile_of_half_its_k(told):
    for words, (bits, steps) in told["spdesc"]:
        tile = tile_of(*words)
        assert_fields(tile, tile.descriptor(0), Descriptor.decode(int(bits, 16), "tcgen05"))
        assert [int(layout_of(steps)(i)) * 16 for i in range(4)] == list(tile.starts)
    assert len(told["spdesc"]) == 28


@needs_nvcc
def test_metadata_of_a_sparse_a_lie_in_tmem_where_tmem_e_frg_puts_them(told):
    for (kind, rows, ws), (text,) in told["meta"]:
        made, layout = MetadataInTmem(kind, int(rows), ws == "1"), layout_of(text)
        width = made.pattern.columns                             # elements of a group; its four bits have as many addresses
        stride = 1 << LANE_BITS + width.bit_length() - 3
        mode = layout.shape[0]
        k = made.groups * width
        copies = layout_size(mode) // (made.rows * k)
        for row in range(made.rows):
            for group in range(4 * made.groups):
                step, inside = divmod(group, made.groups)
                places = set()
                for copy in range(copies):
                    at = int(layout(row + made.rows * width * inside + made.rows * k * copy + layout_size(mode) * step))
                    bit = at % stride * 4 // width
                    places.add((at // stride, bit // 32, bit % 32))
                assert places == set(made(row, group)), (kind, rows, row, group)
    assert len(told["meta"]) == 11


@needs_nvcc
def test_operands_with_96_of_k_have_the_descriptors_of_cutlasss_mainloop(told):
    for (rows, step), (bits,) in told["k96"]:
        rows = int(rows)
        tile = OperandK96(rows, (0, 128 * rows, 256 * rows))
        assert tile.descriptors()[int(step)].encode() == int(bits, 16)
        assert Descriptor.decode(int(bits, 16), "tcgen05") == tile.descriptors()[int(step)]
    assert len(told["k96"]) == 24


@needs_nvcc
def test_instructions_with_96_of_k_begin_at_cutlasss_columns_and_ids(told):
    for (scale, m, n, vector, step), (bits, address) in told["k96idesc"]:
        vector, step, address = int(vector), int(step), int(address, 16)
        column, first = ScalesInTmem(128).begin(96 // vector * step)
        assert (column, first) == (address & 0xFFFF, address >> 30)
        assert first == scale_id("mxf4nvf4", vector, step, "k96")
        made = InstructionDescriptor("mxf4nvf4", "e2m1", "e2m1", "f32", int(m), int(n), scale=scale, scale_a_id=first,
                                     scale_b_id=first, k96=True)
        assert made.encode() == int(bits, 16) and InstructionDescriptor.decode(int(bits, 16), "mxf4nvf4") == made
    assert len(told["k96idesc"]) == 16
