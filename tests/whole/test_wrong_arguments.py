"""Wrong arguments of public functions are refused in the library's own words: no error of NumPy or Python comes through."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import simlayout as sl
from simlayout import codegen, hardware, lessons, machine, nsight, numerics, proofs, synthesis, testing
from simlayout.arguments import kind_of, typed
from simlayout.errors import InstructionError, LayoutError, SimlayoutError
from simlayout.hardware import Descriptor, InstructionDescriptor, ScaleSource
from simlayout.machine.engine.trace import Trace

PLAIN = sl.Layout((16, 64), (64, 1))
TILE = sl.Swizzle(3, 3, 3) @ PLAIN
LOAD = sl.Access("load", "ldmatrix.x4", TILE, lambda tid, k: (tid % 16, 16*k + 8*(tid // 16)), {"tid": 32, "k": 4})
TENSOR = sl.TensorMap("f16", (4096, 4096), (8192,), (64, 128), swizzle=128)
DESCRIPTOR = Descriptor(0, 16, 1024, 128)
MMA, WGMMA, SPARSE = "m16n8k16.f32.f16.f16.f32", "wgmma.m64n256k16.f32.f16.f16", "mma.sp.m16n8k16.f32.f16.f16.f32"
SCALED = "m16n8k64.f32.e2m1.e2m1.f32.mxf4.2X.ue8m0"
HALVES = np.ones((16, 16), np.float16)
VALUES, METADATA = hardware.compress(np.array([[0, 5, 0, 7]]))
HELD, PLACED, ANALYZED = sl.fragment(MMA, "A"), hardware.accumulator(128, 64), LOAD.analyze()

OPERAND = sl.OperandTile(64, 64, "f16", "K", 128, "wgmma")
MAPPED = sl.TensorMap.of(np.zeros((8, 64), np.float16), (64, 8))
SMALL = sl.Plan("small", (16, 8, 64), 1, 1, MMA, (LOAD,), (), (), 2048)
MODULE = sl.ptx.load(".version 9.0\n.target sm_90\n.address_size 64\n.global .align 4 .b8 table[4];\n.entry none() { ret; }")
LAUNCH = nsight.Launch("f", 0, {0: nsight.Counted("LDS.128 R4, [R2]", 32, 4, 4)})


def for_tile(tile, accesses, arch):
    testing.assert_conflict_free(tile, for_=accesses, arch=arch)


def layers_of_search(layers):
    sl.search([LOAD], ("swizzle",), layers=layers)


def run_with_hazards(hazards):
    MODULE.entry().run(1, 32, hazards=hazards)


def nothing():
    pass


def run_beside(grid, block, accesses, registers, together, cluster):
    machine.run(nothing, grid, block, accesses=accesses, registers=registers, together=together, cluster=cluster)


def smallest_of(strategy, *names):
    """A function of the values of these parameters, by name, that draws from the strategy."""
    @wraps(strategy)
    def drawn(*values):
        return testing.smallest(strategy(**dict(zip(names, values))))
    return drawn


CALLS = [
    (sl.Swizzle, 3, 3, 3), (sl.Swizzle(3, 3, 3), 5), (sl.Rotation(8, 8, 64), 5), (sl.F2Map((1, 2, 4)), 5), (PLAIN, 3, 8),
    (TILE, 3, 8), (sl.Composed, (sl.Swizzle(3, 3, 3),), PLAIN, 0), (sl.complement, sl.Layout(8), 64),
    (sl.zipped_divide, sl.Layout(8), sl.Layout(2)), (sl.algebra.make_layout, PLAIN, PLAIN), (sl.parse, "4:1"),
    (sl.OperandTile, 64, 64, "f16", "K", 128, "wgmma"), (sl.Source, "A", lambda tid: (tid, 0), True),
    (sl.TensorMap, "f16", (4096, 4096), (8192,), (64, 128), (1, 1), 128, "zero", 0),
    (sl.choose_ldmatrix, MMA, "A", (1, 1, 1), "K", None), (sl.fragment, MMA, "A"), (HELD, 3, 1),
    (sl.analyze, "ld.shared.b32", np.arange(32) * 4), (sl.analyze("ld.shared.b32", np.arange(32) * 4).explain, 0),
    (sl.mma, MMA, HALVES, HALVES[:, :8], np.zeros((16, 8), np.float32)), (numerics.rule, MMA, "sm_90"),
    (numerics.warp_mma, MMA, "sm_90"), (sl.prove_operand, TENSOR, [((0, 0), 0)], [DESCRIPTOR], 128, (0, 0), "K"),
    (sl.prove_tile, TENSOR, [((0, 0), 0)], np.zeros((1, 1), int), (0, 0)), (proofs.digest, np.arange(4)), (sl.verify, LOAD),
    (sl.Plan, "plan", (16, 16, 16), 1, 1, MMA, (LOAD,), (), (), 1024), (sl.emit, LOAD), (codegen.trace, LOAD),
    (codegen.symbol, "x", 8), (codegen.parse_index, "row*64 + col", ("row", "col")), (codegen.identifier, "load A"),
    (sl.formula, "row*64 + col", ("row", "col")), (codegen.compile_source, "def f(x):\n    return x\n", "f"),
    (codegen.index_function, LOAD), (codegen.check, sl.emit(LOAD), LOAD), (codegen.module_source, "title", [sl.emit(LOAD)]),
    (sl.tile, "Sw<3,3,3> o (16,64):(64,1)", {"row": 16, "col": 64}), (synthesis.costs, [LOAD]),
    (synthesis.better_layout, LOAD), (hardware.diagnose, 0x4000404000010040, None, "f16", 128, 64, "K"),
    (Descriptor, 0, 16, 1024, 128, 0, "wgmma", False), (Descriptor.decode, 0x4000004000010040, "wgmma"),
    (InstructionDescriptor, "f16", "bf16", "bf16", "f32", 64, 256, "K", "K", False, False, False, 0, False, 0, None, 0, 0,
     False),
    (InstructionDescriptor.decode, 0x08B00000, "mxf8f6f4"), (hardware.instruction_descriptors, 0x08B00000),
    (hardware.MetadataInTmem, "f16", 128, False), (ScaleSource, SCALED, "SA", 0, 0), (ScaleSource(SCALED, "SA"), 9, 0),
    (hardware.ScalesInTmem, 128, False), (hardware.ScalesInTmem(128), 0, 0), (hardware.TmemAddress, 32, 256),
    (hardware.TmemAddress.decode, 0x00600010), (hardware.accumulator, 128, 64, 1, False, False, "f16"), (PLACED, 1, 1),
    (hardware.compress, np.array([[0, 5, 0, 7]]), "2:4"), (hardware.expand, VALUES, METADATA, "2:4"),
    (hardware.stored_columns, METADATA, "2:4"), (hardware.sparse_mma, SPARSE), (hardware.sparse_metadata, SPARSE, 0),
    (hardware.metadata_registers, SPARSE, np.full((16, 4), 4), 0), (hardware.fewest_clocks, WGMMA, "shared"),
    (hardware.operand_wavefronts, WGMMA, "shared"), (hardware.mma_clocks, MMA, "sm_90"),
    (hardware.operand_addresses, DESCRIPTOR, 64, 16, "f16", "K"), (hardware.scale_id, "mxf8f6f4", 32, 1, "dense"),
    (hardware.scale_layout, 128, 4), (hardware.tmem_allocation, 8), (hardware.tmem_copy, "128x256b"),
    (hardware.tmem_fragment, "tcgen05.ld.16x32bx2.x2", None), (machine.execute, None), (testing.swizzles,),
    (lessons.lesson, 1, "en"), (lessons.check, "1.1", None, 1, "en"), (sl.guide.page, "layouts"),
    (lessons.lessons, "en"), (lessons.theory, "en"), (lessons.teaching, "en"), (lessons.measured, "pairs", None),
    (testing.assert_conflict_free, LOAD), (for_tile, TILE, [LOAD], "sm_90"), (testing.assert_wavefronts, LOAD, 16),
    (testing.assert_bijective, TILE, {"row": 16, "col": 64}, 1024), (testing.assert_no_conflicts, Trace(()), None),
    (testing.assert_equivalent, TILE, TILE, {"row": 16, "col": 64}), (testing.assert_no_hazards, Trace(())),
    (testing.addresses, "ld.shared.b32"), (testing.lane_masks, "ld.shared.b32"), (testing.tiles, "f16"),
    (smallest_of(testing.layouts, "max_size", "max_rank", "max_stride"), 8, 2, 8),
    (smallest_of(testing.one_to_one_layouts, "max_size", "max_rank", "max_gap"), 8, 2, 8),
    (smallest_of(testing.rotations, "max_chunk", "max_count", "max_rows", "max_period"), 2, 2, 2, 2),
    (smallest_of(testing.tiles, "kinds", "max_rows", "max_row_bytes", "max_bytes"), ["plain"], 16, 32, 1024),
    (testing.smallest, st.integers()), (nsight.launches, "none.ncu-rep"), (nsight.predictions, "none.json"),
    (sl.search, [LOAD], ("swizzle",)), (layers_of_search, 1), (sl.search_plan, SMALL), (sl.rearrange, LOAD.restricted(k=1)),
    (sl.translate, TILE, "triton"), (sl.equivalent, TILE, TILE), (sl.Tile, lambda row, col: row, (16, 64)),
    (run_beside, 1, 32, [LOAD], None, False, 1), (machine.run, nothing, 1, 32),
    (run_with_hazards, "off"), (sl.simulate, for_tile), (sl.Layout.row_major, 16, 64),
    (sl.formula("row*64 + col"), 3, 8), (OPERAND.descriptor, 0), (OPERAND.put, 0),
    (OPERAND.prove, 0), (TENSOR.landing, 0), (MAPPED.coordinates, (0, 0)), (MAPPED.spans, (0, 0)), (MAPPED.gather, (0, 0)),
    (MAPPED.scatter, (0, 0), MAPPED.gather((0, 0))), (sl.TensorMap.of, np.zeros((8, 64), np.float16), (64, 8), 128, "f16"),
    (SMALL.access, "load"), (SMALL.predict, 64, 64, 32), (SMALL.predict(64, 64, 32).count, "load"),
    (Trace(()).count, "load"), (Trace(()).listing, True, False), (Trace(()).source_lines, False),
    (MODULE.variable, "table"), (MODULE.assign, "table", b"1234"), (nsight.compare, LAUNCH),
    (LAUNCH.source, "a.cu", 1), (LAUNCH.is_called, "f"), (LAUNCH.plus, LAUNCH),
    (sl.dtype_of, "f16"), (sl.coalesce, PLAIN), (sl.composition, sl.Layout(8), sl.Layout(4, 2)), (sl.F2Map, (1, 2), 0),
    (sl.algebra.left_inverse, sl.Layout(8)), (sl.algebra.right_inverse, sl.Layout(8)), (sl.Rotation, 8, 8, 64, None),
    (sl.logical_divide, sl.Layout(8), sl.Layout(2)), (sl.logical_product, sl.Layout(8), sl.Layout(2)),
    (sl.tiled_divide, sl.Layout(8), sl.Layout(2)), (sl.Layout, (16, 64), (64, 1)), (sl.instruction, "ldmatrix.x4", "sm_90"),
    (sl.Access, "load", "ldmatrix.x4", TILE, LOAD.lanes, {"tid": 32, "k": 4}), (LOAD.analyze, "sm_90"),
    (hardware.arch_of, "sm_90"), (hardware.mma_of, MMA), (hardware.metadata_nibbles, SPARSE, np.full(32, 0x4E4E4E4E)),
    (numerics.tensor_op, MMA, "sm_90"), (numerics.gemm, MMA, HALVES, HALVES), (synthesis.plain_tile, TILE),
    (sl.ptx.load, "none.ptx"), (sl.ptx.read, "none.ptx"), (sl.ptx.Pointer, np.zeros(4)), (MODULE.__getitem__, "none"),
    (MODULE.entry().run, 1, 32),
]

CALLS_OF_PLOTS = [
    (sl.plots.banks, ANALYZED, 0, None, "title"), (sl.plots.comparison, ANALYZED, ANALYZED, 0),
    (sl.plots.phases, ANALYZED, 0), (sl.plots.phase_rows, ANALYZED, 0, [0]), (sl.plots.matrix_phases, LOAD, 0, [0]),
    (sl.plots.layout, TILE, "offset", "f16"), (sl.plots.layout_map, TILE, "offset", "f16"),
    (sl.plots.memory, TILE, "f16"), (sl.plots.matrix, TILE, "f16"), (sl.plots.bit_matrix, TILE, "f16"),
    (sl.plots.touched, LOAD, (0,), "instruction", "title"), (sl.plots.outline, HELD), (sl.plots.table, HELD, 8, 8),
    (sl.plots.tma, TENSOR), (sl.plots.tma_modes, (0, 32)), (sl.plots.atom, 128), (sl.plots.accumulator_panel, PLACED, 0),
    (sl.plots.operand_panel, OPERAND, "A", 64), (sl.plots.plan, SMALL, 64, 64, 32),
    (sl.plots.plan_sheet, SMALL, (64, 64, 32), "name", "f16"), (sl.plots.save, None, "a.svg"), (sl.plots.close, None),
    (sl.plots.ladder, [sl.plots.Bar("a", 1.0)]), (sl.plots.share_by_size, [sl.plots.Dot(1.0, 1.0, "a")]),
]

WRONG = [None, "x", b"x", 1.5, float("nan"), True, np.int8(1), np.float32(2), -1, 0, 2**70, [], (), {}, {"a": "b"}, ["a"],
         [[1], [2, 3]], (1, 2, 3), np.array(["a"]), np.zeros((2, 2), object), np.array(3), np.zeros(0), object(),
         int, sl, slice(1), iter([1]), Trace(())]
"""Of these some are right somewhere, which is as well."""


def named(call):
    return getattr(call[0], "__qualname__", type(call[0]).__name__)


@pytest.mark.parametrize("call", CALLS + CALLS_OF_PLOTS, ids=named)
def test_a_wrong_argument_raises_the_librarys_own_error_or_none(call):
    function, *given = call
    for place in range(len(given)):
        for wrong in WRONG:
            try:
                function(*given[:place], wrong, *given[place + 1:])
            except (SimlayoutError, AssertionError):     # an assertion of simlayout.testing: it was understood, and is false
                pass
            finally:
                sl.plots.close("all")


@pytest.mark.parametrize("call, fault", [
    (lambda: hardware.diagnose(0x4000404000010040, rows="x"), "diagnose: rows is an integer or None, not 'x'"),
    (lambda: hardware.accumulator(128, 64, ctas=None), "accumulator: ctas is an integer, not None"),
    (lambda: hardware.scale_id("mxf8f6f4", [], 0), "scale_id: vector is an integer, not []"),
    (lambda: codegen.trace(5), "trace: access is an Access, not 5: say which coordinate each lane gives, as in Access(name, "
                               "instruction, layout, lanes, domain)"),
    (lambda: codegen.symbol("x", "8"), "symbol: size is an integer, not '8'"),
    (lambda: codegen.parse_index("row", None), "parse_index: names is a list, each a text, not None"),
    (lambda: codegen.compile_source(None), "compile_source: source is a text, not None"),
    (lambda: sl.prove_tile(TENSOR, [((0, 0), 0)], [[0]], origin=5),
     "prove_tile: origin is a tuple (an integer, an integer), not 5"),
    (lambda: sl.mma(MMA, [[1], [2, 3]], HALVES), "mma: a is an array of numbers, not [[1], [2, 3]]"),
    (lambda: sl.prove_operand(5, [], [], 64), "prove_operand: tensor is a TensorMap, not 5: write TensorMap(dtype, dims, "
                                              "strides, box)")])
def test_a_wrong_argument_is_told_by_its_name_with_what_it_should_be(call, fault):
    with pytest.raises(SimlayoutError) as told:
        call()
    assert str(told.value) == fault


def test_an_arch_stands_for_its_name():
    arch = hardware.ARCHES["sm_90"]
    assert sl.emit(LOAD, arch=arch).source == sl.emit(LOAD, arch="sm_90").source
    assert numerics.rule(MMA, arch) == numerics.rule(MMA, "sm_90") and numerics.warp_mma(MMA, arch)
    assert hardware.diagnose(0x4000004000010040, arch) == hardware.diagnose(0x4000004000010040, "sm_90")


def test_integers_and_lists_of_any_make_arrive_as_pythons():
    @typed(LayoutError)
    def given(a: int, b: bool, c: tuple[int, ...], d: int | str, *e: int):
        return a, b, c, d, e

    found = given(np.int8(1), np.bool_(True), iter(np.arange(2)), np.array(3), np.int16(4))
    assert found == (1, True, (0, 1), 3, (4,)) and type(found[0]) is int and found[1] is True and type(found[2][1]) is int
    with pytest.raises(LayoutError, match="given: e is an integer, not 'x'"):
        given(1, True, (), 3, "x")
    with pytest.raises(TypeError, match="missing 1 required"):
        given(1, True, ())


def test_a_parameter_to_look_at_oneself_that_there_is_not_is_a_mistake_of_the_author():
    with pytest.raises(TypeError, match="given has no parameter mien"):
        @typed(LayoutError, own=("mien",))
        def given(mine: int):
            return mine


def test_an_array_that_lies_elsewhere_is_copied_once():
    copies = []

    class OnGpu:
        def __array__(self, dtype=None, copy=None):
            copies.append(HALVES)
            return HALVES

    sl.mma(MMA, OnGpu(), HALVES[:, :8])
    assert len(copies) == 1


def test_an_array_that_stays_on_a_gpu_is_refused_with_how_to_copy_it():
    class OnGpu:
        __cuda_array_interface__ = {"shape": (16, 16), "typestr": "<f2", "data": (0, False), "version": 3}

        def __array__(self, dtype=None, copy=None):
            raise TypeError("Implicit conversion to a NumPy array is not allowed")

        def __repr__(self):
            return "array([...])"

    with pytest.raises(InstructionError, match=r"a is an array of numbers, not array\(\[...\]\): copy it to the CPU"):
        sl.mma(MMA, OnGpu(), HALVES[:, :8])


def test_parameters_of_positions_only_and_of_names_only_are_told_by_their_own_names():
    @typed(LayoutError)
    def given(a: int, /, b: str, *, c: tuple):
        return a, b, c

    assert given(1, "x", c=iter([2, "y"])) == (1, "x", (2, "y")) == given(1, b="x", c=[2, "y"])
    for name, wrong in [("a", lambda: given("x", "x", c=())), ("b", lambda: given(1, 2, c=())),
                        ("c", lambda: given(1, "x", c=3))]:
        with pytest.raises(LayoutError, match=f"given: {name} is "):
            wrong()


def test_a_tiles_elements_are_told_in_any_way_that_numpy_has():
    tile = sl.OperandTile(64, 64, np.float16)
    assert tile.bytes == sl.OperandTile(64, 64, "f16").bytes
    assert (hardware.operand_addresses(DESCRIPTOR, 64, 16, np.dtype("f2"), "K")
            == hardware.operand_addresses(DESCRIPTOR, 64, 16, "f16", "K")).all()


def test_pytest_ends_at_the_users_line_where_an_assertion_fails():
    conflicting = sl.Access("load", "ldmatrix.x4", PLAIN, LOAD.lanes, {"tid": 32, "k": 4})
    with pytest.raises(AssertionError) as told:
        testing.assert_conflict_free(conflicting)
    assert [str(entry.path) for entry in told.traceback.filter(told)] == [__file__]


def test_what_is_not_looked_at_passes_and_own_parameters_do():
    @typed(InstructionError, own=("mine",))
    def given(mine: int, free, other: Any = None, kind: np.dtype | str = "f2", **rest: int):
        return mine, free, other, kind, rest

    assert given("x", 1, 2, 3, y="z") == ("x", 1, 2, 3, {"y": "z"})


@pytest.mark.parametrize("annotation, words", [
    (Sequence[int], "a list, each an integer"), (Iterable[sl.Access], "a list, each an Access"),
    (tuple[sl.Access, ...], "a list, each an Access"),
    (tuple[int, str], "a tuple (an integer, a text)"), (int | None, "an integer or None"), (Mapping[str, int], "a dict"),
    (Callable[[int], int], "a function"), (np.ndarray, "an array of numbers"), ("TensorMap", "a TensorMap")])
def test_annotations_are_told_in_words(annotation, words):
    assert kind_of(annotation).words == words


@pytest.mark.parametrize("call", [
    lambda x: LOAD.analyze(x), lambda x: sl.Access(x, "ldmatrix.x4", TILE), lambda x: hardware.mma_of(x),
    lambda x: machine.run(for_tile, x, 32), lambda x: machine.run(x, 1, 32), lambda x: MODULE.entry().run(1, x),
    lambda x: SMALL.predict(64, x, 32), lambda x: sl.plots.banks(LOAD.analyze(), x), lambda x: sl.plots.table(HELD, x),
    lambda x: numerics.tensor_op(x), lambda x: MODULE.entry().run(1, 32, shared_bytes=x)])
def test_an_array_in_a_wrong_place_is_told_on_one_line(call):
    with pytest.raises(SimlayoutError, match="array") as told:
        call(np.zeros((32, 32)))
    assert "\n" not in str(told.value) and len(str(told.value)) < 300


def test_a_value_that_cannot_be_shown_is_told_by_its_class():
    class Broken:
        def __repr__(self):
            raise RuntimeError

    with pytest.raises(SimlayoutError, match="symbol: name is a text, not <?Broken"):
        codegen.symbol(Broken(), 8)
