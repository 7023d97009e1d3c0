"""What the library refuses: in its own words, before anything runs."""

import subprocess
import sys

import numpy as np
import pytest

import simlayout as sl
from simlayout.algebra import Tile
from simlayout.errors import AddressError, InstructionError, LayoutError, ParseError, SimlayoutError, UndefinedError
from simlayout.testing import assert_bijective, assert_conflict_free, assert_equivalent


def nested(depth, wrap=tuple):
    made = 2
    for _ in range(depth):
        made = wrap([made])
    return made


DEEP, LIST = nested(5000), nested(5000, list)
ITSELF = []
ITSELF.append(ITSELF)
SQUARE = sl.Layout((4, 4))


@pytest.mark.parametrize("call", [
    lambda: sl.Layout(DEEP), lambda: sl.Layout(LIST), lambda: sl.Layout(ITSELF), lambda: sl.Layout((2, 2), (DEEP, 1)),
    lambda: sl.Layout.row_major(DEEP, 2), lambda: SQUARE(DEEP), lambda: SQUARE(DEEP, 1),
    lambda: sl.composition(SQUARE, DEEP),
    lambda: sl.logical_divide(SQUARE, DEEP), lambda: sl.zipped_divide(SQUARE, DEEP), lambda: sl.tiled_divide(SQUARE, DEEP),
    lambda: sl.logical_product(SQUARE, DEEP), lambda: sl.complement(SQUARE, DEEP), lambda: sl.Swizzle(DEEP, 1, 1),
    lambda: sl.Rotation(1, DEEP, 1), lambda: sl.F2Map(DEEP), lambda: sl.F2Map(5),
    lambda: sl.equivalent(SQUARE, SQUARE, DEEP),
    lambda: sl.dtype_of(DEEP), lambda: sl.instruction(DEEP), lambda: sl.fragment(DEEP, "A"), lambda: sl.fragment("x", DEEP),
    lambda: sl.analyze("ld.shared.b32", DEEP), lambda: access(SQUARE, domain={"tid": DEEP}),
    lambda: sl.verify(access(SQUARE, lanes=lambda t: DEEP)), lambda: sl.parse("(" * 4999 + "2" + ")" * 4999)])
def test_tuples_that_are_nested_thousands_deep_are_refused(call):
    with pytest.raises(SimlayoutError):
        call()


@pytest.mark.parametrize("call, fault", [
    (lambda: SQUARE[1, 2], r"number, not by \(1, 2\); the offset of an element is a call, as in layout\(3, 4\)"),
    (lambda: SQUARE["row"], "not by 'row'"),
    (lambda: sl.Swizzle(3, 3, 3) @ (16, 64), r"@ takes a layout, not \(16, 64\): write Layout"),
    (lambda: SQUARE @ 4, "@ takes a layout, not 4"), (lambda: sl.F2Map((1, 2)) @ "4:1", r"or parse\(text\)")])
def test_what_stands_in_the_place_of_a_layout_is_answered_with_what_to_write(call, fault):
    with pytest.raises(LayoutError, match=fault):
        call()


def test_who_says_himself_how_he_is_composed_composes():
    class Sizes(tuple):
        def __rmatmul__(self, outer):
            return outer, self

    assert SQUARE @ Sizes((4,)) == (SQUARE, (4,)) and (sl.Swizzle(3, 3, 3) @ Sizes((4,)))[1] == (4,)


def access(tile, **changes):
    parts = {"name": "x", "instruction": "ld.shared.b32", "domain": {"tid": 32}, "dtype": "f32", "excess": None}
    return sl.Access(**{"tile": tile} | parts | changes)


# ---- 64 bits ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("text", [
    "Rot<1,1,9223372036854775808> o (16,64):(64,1)", "Rot<1,1,1,9223372036854775808>", "Rot<1,1,9999999999999999999>",
    "Sw<1,1,1> o 9999999999999999999 o 4", "9223372036854775808:1",
    "(1,4):(9223372036854775808,1)", "2:9223372036854775808"])
def test_texts_of_numbers_beyond_64_bits_point_at_them(text):
    with pytest.raises(ParseError, match="64[ -]bit"):
        sl.parse(text)


def test_a_layer_that_leaves_64_bits_is_refused_with_the_index():
    with pytest.raises(UndefinedError, match="index = 8: .*leaves 64 bits"):
        sl.parse("Sw<3,3,3> o 9223372036854775800 o 64").offsets()
    with pytest.raises(LayoutError, match="beyond 64 bits"):
        sl.Layout(4, 2**61).byte_address(np.array([3]), dtype="f64")


def test_layouts_whose_byte_addresses_leave_64_bits_are_refused():
    wide = access(sl.Layout((2, 32), (2**60, 1)), lanes=lambda t: (t % 2, t), instruction="ld.shared.b128", dtype="b128")
    for ask in (sl.verify, sl.Access.analyze, assert_conflict_free):
        with pytest.raises(UndefinedError, match="at tid = 1: offset 1152921504606846977 of 16-byte elements"):
            ask(wide)


# ---- memory ----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("call", [
    lambda: sl.verify("1099511627776"), lambda: sl.verify("Sw<3,3,3> o (1048576,1048576)"),
    lambda: sl.Layout(2**40).coordinates(),
    lambda: sl.verify(Tile(lambda x: x, {"x": 2**40})), lambda: sl.parse("Sw<3,3,3> o (1048576,1048576):(1,1048577)").cosize,
    lambda: sl.verify(access(lambda t, i: t, domain={"tid": 32, "i": 10**9})),
    lambda: access(lambda t, i: t, domain={"tid": 32, "i": 10**9}).analyze(), lambda: sl.emit(access(SQUARE,
    domain={"tid": 2**40})),
    lambda: sl.search(access(sl.Layout((32, 32)), lanes=lambda t, i: (t, 0), domain={"tid": 32, "i": 10**9}))])
def test_more_points_than_memory_holds_are_refused_with_the_estimate(call):
    with pytest.raises(LayoutError, match="GiB|at most 67108864 are written out"):
        call()


def test_a_domain_worked_off_in_pieces_gives_the_certificate_of_one_piece(monkeypatch):
    tile = sl.Swizzle(3, 3, 3) @ sl.Layout((32, 64), (64, 1))
    load = sl.Access("load", "ldmatrix.x4", tile, lambda tid, i, k: (16 * i + tid % 16, 16 * k + 8 * (tid % 32 // 16)),
                     {"tid": 64, "i": 2, "k": 4})
    store = sl.Access("store", "st.shared.b128", tile, lambda tid, i: (tid // 8 % 8 + 8 * i, 8 * (tid % 8)),
    {"tid": 64, "i": 4})
    crooked = sl.Access("late", "ld.shared.b32", lambda t, i: t + (i == 5) * (t == 3) * 29,
    domain={"tid": 32, "i": 7}, dtype="f32")
    outside = load.with_tile(sl.Swizzle(3, 3, 3) @ sl.Layout((24, 64), (64, 1)))

    def asked():
        made = [sl.verify(load, stored_by=[store]), sl.verify(store)]
        made += [load.offsets().tolist(), load.coordinates()[1].tolist()]
        for wrong, stores in ((crooked, ()), (outside, ()), (load, [store.restricted(i=3)])):
            with pytest.raises(SimlayoutError) as caught:
                sl.verify(wrong, stored_by=stores)
            made.append(caught.value.counterexample)
        return made

    whole = asked()
    monkeypatch.setattr("simlayout.proofs.access.pieces", lambda sizes: tables_of(sizes))
    assert len(list(load.boxes())) == 8 and asked() == whole


def tables_of(sizes):
    from simlayout.algebra.exact import pieces

    return pieces(sizes, 64)


def test_a_large_domain_takes_little_memory():
    program = """
import resource
import simlayout as sl
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
sl.verify(sl.Access("x", "ld.shared.b32", lambda t, i: (t + i) % 1024, domain={"tid": 256, "i": 4096}, dtype="f32"))
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)
"""
    used = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert float(used) < 60                                       # MiB for a million points; 400 B each would be 400


# ---- accesses ---------------------------------------------------------------------------------------------------------

def test_the_text_of_a_layout_is_a_tile():
    text = "Sw<3,3,3> o (16,64):(64,1)"
    assert access(text, lanes=lambda t: (t % 16, 0)).tile == sl.parse(text)
    assert sl.verify(text).claims == sl.verify(sl.parse(text)).claims


@pytest.mark.parametrize("tile, lanes, fault", [
    (SQUARE, lambda: 0, "raises TypeError"), (lambda a, b: a, None, "raises TypeError"),
    (lambda t: None, None, "None is no integer"),
    (lambda t: "5", None, "'5' is no integer"), (lambda t: (t, t), None, "tuple"),
    (lambda t: undefined, None, "NameError"),  # noqa: F821
    (lambda t: t[0], None, "must not treat"), (lambda t: t + len(t), None, "must not treat"),
    (lambda t: t.size, None, "must not treat"), (lambda t: t.tolist()[0], None, "must not treat"),
    (lambda t: sum(t), None, "must not treat"), (lambda t: t.argmax(), None, "must not treat"),
    (lambda t: (t * 100).astype(np.int8), None, "AttributeError"),
    (lambda t: np.ones(32, bool)[t], None, "NumPy bool"),
    (lambda t: np.arange(32)[t] << 62 << 2, None, "multiply by a power of two"),
    (lambda t: {}[t], None, "TypeError|KeyError"),
    (lambda t: float(t), None, "float"), (lambda t: t.max(), None, "must not treat")])
def test_functions_that_are_no_index_functions_are_refused(tile, lanes, fault):
    for ask in (sl.verify, sl.Access.analyze):
        with pytest.raises(SimlayoutError, match=fault):
            ask(access(tile, lanes=lanes))


# ---- stores, searches, fragments, addresses ---------------------------------------------------------------------------

LOAD = access(sl.Layout(32))


def store(tile, **changes):
    return access(tile, **{"name": "s", "instruction": "st.shared.b32"} | changes)


@pytest.mark.parametrize("load, stores, fault", [
    (LOAD, [LOAD], "stored_by takes stores alone: 'x' is of ld.shared.b32"), (LOAD,
    [sl.Layout(32)], "takes a list of Accesses"),
    (LOAD, [store(sl.Layout(32), lanes=lambda t: t + 1)], "leaves the tile 32:1: coordinate 0 is 32"),
    (LOAD, [store(lambda t: t + 10**9)], "out of range"), (LOAD, [store(lambda t: t - 1)], "negative"),
    (LOAD, [store(sl.Layout((32, 1)), lanes=lambda t: (t, 0))], "cannot be compared"),
    (store(sl.Layout(32)), [store(sl.Layout(32))], "reads nothing"), (LOAD, [store(lambda t: 5 // t)], "5 // 0")])
def test_what_cannot_have_been_stored_is_refused(load, stores, fault):
    with pytest.raises(SimlayoutError, match=fault):
        sl.verify(load, stored_by=stores)


def test_one_store_alone_needs_no_list():
    assert sl.verify(LOAD, stored_by=store(sl.Layout(32))).claims[-1].startswith("agrees with 's'")


WALK = access(sl.Layout((32, 32)), lanes=lambda t: (t, 0))


@pytest.mark.parametrize("arguments, fault", [
    (([],), "at least one"), ((None,), "list of Accesses"), (("x",), "list of Accesses"),
    (([sl.Layout(32)],), "list of Accesses"),
    ((WALK, None), "families"), ((WALK, ("swizzle", "x")), "families"), ((WALK, "swizzle", "2"), "layers"),
    ((WALK, "swizzle", 1, 0), "limit = 0"), ((WALK, "swizzle", 1, 2.5), "limit"),
    ((WALK, "swizzle", 1, 1, -5), "budget = -5"),
    ((access(sl.Layout((32, 32)), lanes=lambda t: (t // t, 0)),), "0 // 0")])
def test_searches_that_make_no_sense_are_refused(arguments, fault):
    with pytest.raises(SimlayoutError, match=fault):
        sl.search(*arguments)


def test_one_access_alone_can_be_searched():
    assert str(sl.search(WALK, "swizzle", limit=1)) == str(sl.search([WALK], ["swizzle"], limit=1))


@pytest.mark.parametrize("lane, value, fault", [
    (99, 0, "lane 99, and there are 0 to 31"), (0, 99, "value 99, and there are 0 to 7"), (-1, 0, "lane -1"),
    (0, -1, "value -1"),
    (1.0, 0, "an integer"), (0, "1", "an integer"), (None, 0, "an integer"), (np.array([0, 32]), 0, "lane 32"),
    ([0, 1], 0, "integer"),
    (0, np.array([1.0]), "not float64"), (np.uint64(2**63), 0, "lane 9223372036854775808"), (np.array([-1]), 0, "lane -1")])
def test_a_fragment_has_its_lanes_and_values_alone(lane, value, fault):
    with pytest.raises(InstructionError, match=fault):
        sl.fragment("m16n8k16.f32.f16.f16.f32", "A")(lane, value)


def test_a_fragment_takes_ints_arrays_and_symbols():
    from simlayout.codegen import symbol

    held = sl.fragment("m16n8k16.f32.f16.f16.f32", "A")
    assert held(np.int64(5), np.int8(2)) == held(5, 2) == (9, 2) and held(np.arange(32), 0)[0].tolist()[4] == 1
    assert str(held(symbol("lane", 32), symbol("value", 8))[0]) == "(lane >> 2) + (((value >> 1) & 1) << 3)"
    with pytest.raises(InstructionError, match="lane 63"):
        held(symbol("lane", 64), 0)


@pytest.mark.parametrize("addresses", [
    [[1, 2], [3]], [0.5] * 32, None, "abc", [2**64] * 32, [2**70] * 32, [], [True] * 32, {}, np.zeros((2, 2, 32), int), DEEP,
    np.full(32, 2**63 + 4, np.uint64)])
def test_addresses_that_are_none_are_refused(addresses):
    with pytest.raises(AddressError):
        sl.analyze("ld.shared.b32", addresses)


# ---- two functions ----------------------------------------------------------------------------------------------------

def test_layouts_of_different_shapes_are_different_and_say_where():
    found = sl.equivalent(sl.Layout((16, 64), (64, 1)), sl.Layout((8, 8), (64, 1)))
    assert not found and found.counterexample == {"x0": 0, "x1": 8, "left": 8, "right": None}
    assert not sl.equivalent(sl.Layout((8, 8), (64, 1)), sl.Layout((16, 64), (64, 1)))
    assert sl.equivalent(sl.Layout((16, 64), (64, 1)), sl.Layout((8, 8), (64, 1)), {"row": 8, "col": 8})
    assert sl.equivalent(sl.Layout((4, 8), (1, 4)), sl.Layout((8, 8), (1, 8))).counterexample["right"] == 8
    with pytest.raises(AssertionError, match="8 and nothing"):
        assert_equivalent(sl.Layout((16, 64), (64, 1)), sl.Layout((8, 8), (64, 1)))


@pytest.mark.parametrize("left, right, domain, fault", [
    (sl.Layout((8, 8)), lambda r, c: r, {"r": 9, "c": 8}, "coordinates below 8, 8 alone, the domain goes to 9, 8"),
    (sl.Layout((8, 8)), lambda x: x, {"x": 65}, "below 64 alone"),
    (sl.Layout((8, 8)), sl.Layout(64), None, "2 modes and 64:1 has 1"),
    (sl.Layout((8, 8)), lambda a, b, c: a, (1, 1, 1), "takes 2 coordinates"), (SQUARE, SQUARE, {"x": 2.0}, "ints"),
    (SQUARE, SQUARE, "4", "ints"), (None, SQUARE, None, "compares functions"), (LOAD, SQUARE, None, "compares functions"),
    (lambda x: (x,), lambda x: x, {"x": 4}, "tuple"), (sl.Layout(2**40), sl.Layout(2**40), None, "at most")])
def test_comparisons_that_make_no_sense_are_refused(left, right, domain, fault):
    with pytest.raises(LayoutError, match=fault):
        sl.equivalent(left, right, domain)


def test_a_nested_layout_has_the_coordinates_of_its_modes():
    assert sl.equivalent(sl.Layout(((4, 2), 8), ((1, 4), 8)), sl.Layout((8, 8)))
    assert sl.equivalent(sl.Layout((8, 8)), sl.Layout(64), {"x": np.int64(64)})


@pytest.mark.parametrize("call", [
    lambda: assert_bijective(lambda x: 5 // x, {"x": 4}), lambda: assert_equivalent(lambda x: x // 0, lambda x: x, {"x": 4}),
    lambda: assert_conflict_free(access(lambda t: 5 // t)), lambda: sl.translate(lambda r, c: r // 0 + c, "cute", (4, 4))])
def test_functions_without_a_value_are_refused_by_assertions_too(call):
    with pytest.raises(UndefinedError, match="// 0 divides by zero"):
        call()


# ---- figures and tables ----------------------------------------------------------------------------------------------

def test_without_matplotlib_every_plot_names_the_extra():
    program = """
import sys
sys.modules["matplotlib"] = None
import simlayout as sl
import cuda_kernels as ck
from simlayout.algebra import Tile
layout = sl.Layout((16, 64), (64, 1))
for thing in (layout, sl.Swizzle(3, 3, 3) @ layout, sl.F2Map((1, 2)), Tile(lambda x: x, {"x": 4}),
              sl.Access("a", "ldmatrix.x4", layout, lambda tid: (tid % 16, 8 * (tid // 16)), excess=None),
              sl.fragment("m16n8k16.f32.f16.f16.f32", "A"), ck.KERNELS["mma_permuted"].plan,
              sl.TensorMap("f16", (4096, 4096), (8192,), (64, 128), swizzle=128)):
    try:
        thing.plot()
    except sl.SimlayoutError as error:
        assert 'pip install "simlayout[plot]"' in str(error)
        print(type(thing).__name__)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert said == ["Layout", "Composed", "F2Map", "Tile", "Access", "Fragment", "Plan", "TensorMap"]


def test_an_analysis_prints_as_a_table_of_twelve_lines_at_most():
    rows = np.arange(32)[None] * 4 * np.arange(1, 9)[:, None]
    several = [sl.analyze("ld.shared.b32", rows), sl.analyze("atom.shared.cas.b32", rows),
               sl.analyze("ld.shared.b32", rows[:0]),
               sl.analyze("cp.async.ca.4", rows), sl.analyze("ldmatrix.x4", rows * 4)]
    for analysis in several:
        lines = str(analysis).splitlines()
        assert 2 < len(lines) <= 12 and max(map(len, lines)) <= 100
        assert len(repr(analysis)) < 120 and "\n" not in repr(analysis)
    assert "worst         access 7: 8 wavefronts where 1 is ideal; 4 of 8 have excess" in str(several[0])
