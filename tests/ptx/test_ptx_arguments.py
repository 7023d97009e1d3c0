"""What a launch passes: arrays of any dtype and strides for pointers, numbers by the parameter's type, bytes for structs;
what does not fit is refused by the parameter's name and position."""

import re

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ptx_texts import WRITE, module

import simlayout as sl
from simlayout.errors import AddressError, HazardError, MachineError
from simlayout.machine.engine.global_memory import Allocation
from simlayout.machine.ptx.memory.space import GlobalSpace

WIDTH = {"8": "%rs1", "16": "%rs1", "32": "%r1", "64": "%rd2"}


def passed(type, value):
    """The bits of a number that a kernel received as a parameter of a type."""
    bits = type.lstrip("usbf")
    body = f"""ld.param.u64 %rd1, [kernel_param_0];
        ld.param.b{bits} {WIDTH[bits]}, [kernel_param_1];
        st.global.b{bits} [%rd1], {WIDTH[bits]};
        ret;"""
    out = np.zeros(1, f"u{int(bits) // 8}")
    sl.ptx.load(module(body, ["u64", type])).entry().run(1, 1, out, value)
    return out


def copied(array, words):
    """The first words of 4 bytes at a pointer, as a kernel reads them."""
    body = f"""ld.param.u64 %rd1, [kernel_param_0];
        ld.param.u64 %rd2, [kernel_param_1];
        mov.u32 %r1, %tid.x;
        mul.wide.u32 %rd3, %r1, 4;
        add.s64 %rd1, %rd1, %rd3;
        add.s64 %rd2, %rd2, %rd3;
        {"ld.global.u32 %r2, [%rd1];"}
        st.global.u32 [%rd2], %r2;
        ret;"""
    out = np.zeros(words, np.uint32)
    sl.ptx.load(module(body, ["u64", "u64"])).entry().run(1, words, array, out)
    return out


# ---- numbers -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("type, value, bits", [
    ("u32", 7, 7), ("u32", -1, 2**32 - 1), ("s32", -2**31, 2**31), ("u8", True, 1), ("u8", np.True_, 1),
    ("u64", 2**64 - 1, 2**64 - 1), ("s64", np.int8(-1), 2**64 - 1), ("f32", 1.5, 0x3FC00000), ("f32", 1, 0x3F800000),
    ("f64", np.float32(0.5), 0x3FE0000000000000), ("f16", 1.5, 0x3E00), ("b16", np.float16(1.5), 0x3E00),
    ("b16", ml_dtypes.bfloat16(1.5), 0x3FC0), ("b32", 1.5, 0x3FC00000), ("b32", 7, 7), ("f32", 1e99, 0x7F800000),
    ("b64", np.complex64(1 + 2j), 0x40000000_3F800000), ("u64", np.datetime64(5, "ns"), 5), ("f32", np.nan, 0x7FC00000),
    ("b8", ml_dtypes.float8_e4m3fn(1), 0x38), ("u16", np.uint16(65535), 65535)])
def test_numbers_arrive_as_the_bits_of_the_parameters_type(type, value, bits):
    assert int(passed(type, value)[0]) == bits


@given(st.sampled_from(["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"]), st.integers(-2**66, 2**66))
def test_integers_arrive_modulo_their_width_or_are_refused_if_they_have_more_bits(type, value):
    bits = int(type[1:])
    if -(1 << bits - 1) <= value < 1 << bits:
        assert int(passed(type, value)[0]) == value % (1 << bits)
    else:
        with pytest.raises(MachineError, match=f"{value} does not fit in {bits} bits: "):
            passed(type, value)


@pytest.mark.parametrize("type, value, told", [
    ("u32", 1.0, "1.0 is no integer: pass 1"), ("s64", 1.5, "1.5 is no integer"), ("u32", "7", "'7' is no number: pass an"),
    ("f32", "7", "'7' is no number"), ("f32", None, "None is a null pointer: pass a number"), ("f32", 1j, "1j is no number"),
    ("u32", [1], "[1] is no number"),
    ("f32", [0] * 999, "[0, 0, 0, 0, 0, 0, ...] is no number: pass an int, a float or a NumPy scalar"),
    ("u64", {0: 0}, "is no number: pass an int, a float or a NumPy scalar, or a NumPy array"),
    ("u32", np.zeros(3), "an array of shape (3,) is a pointer, and this is a number"),
    ("f32", np.zeros(()), "array.item() of a single element"), ("u32", b"1234", "b'1234' is no number"),
    ("u64", 2**64, "does not fit in 64 bits: -9223372036854775808 to 18446744073709551615"),
    ("f64", 10**400, "too large")])
def test_a_number_that_does_not_fit_is_refused_by_the_parameters_name_and_position(type, value, told):
    with pytest.raises(MachineError) as refused:
        passed(type, value)
    assert str(refused.value).startswith(f"kernel: argument 2 of 2 (param_1: .{type}): ") and told in str(refused.value)


@pytest.mark.parametrize("args, told", [
    ((), "and 0 are given"), ((np.zeros(4, np.int32), 1), "and 2 are given")])
def test_a_wrong_number_of_arguments_is_refused_with_what_the_entry_takes(args, told):
    with pytest.raises(MachineError, match=re.escape("kernel takes 1 argument (param_0: .u64), " + told)):
        sl.ptx.load(module(WRITE, ["u64"])).entry().run(1, 1, *args)


# ---- structs -----------------------------------------------------------------------------------------------------------

STRUCT = module("""ld.param.u64 %rd1, [kernel_param_0];
ld.param.u32 %r1, [kernel_param_1+4];
st.global.u32 [%rd1], %r1;
ret;""", ["u64", ".param .align 4 .b8 kernel_param_1[8]"])


@pytest.mark.parametrize("value", [
    bytes([0, 0, 0, 0, 7, 0, 0, 0]), bytearray(b"\0\0\0\0\7\0\0\0"), np.array([0, 7], np.int32),
    np.array((0, 7), [("x", "<i4"), ("y", "<i4")])[()], memoryview(np.array([0, 7], np.int32))])
def test_a_struct_takes_its_bytes(value):
    out = np.zeros(1, np.int32)
    sl.ptx.load(STRUCT).entry().run(1, 1, out, value)
    assert out[0] == 7


@pytest.mark.parametrize("value, told", [
    (bytes(7), "7 bytes are given, and the struct has 8"), (7, "bytes, a structured scalar or a TensorMap, not int"),
    (np.zeros(1, object), "not ndarray"), ("12345678", "not str"), (None, "not NoneType")])
def test_what_is_no_struct_of_that_size_is_refused(value, told):
    with pytest.raises(MachineError, match=r"argument 2 of 2 \(param_1: 8 bytes\): .*" + told):
        sl.ptx.load(STRUCT).entry().run(1, 1, np.zeros(1, np.int32), value)


# A kernel of a struct { float *data; int size; float factor; }, of an array of such structs, and of an array of pointers:
# each multiplies the elements by the factor, or adds 1 to them.
VIEWS = """
.version 9.0
.target sm_90
.address_size 64
.visible .entry view(.param .align 8 .b8 view_param_0[16])
{
    .reg .pred %p; .reg .f32 %f<3>; .reg .b32 %r<3>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [view_param_0];
    ld.param.v2.b32 {%r1, %r2}, [view_param_0+8];
    mov.b32 %f1, %r2;
    mov.u32 %r2, %tid.x;
    setp.ge.s32 %p, %r2, %r1;
    @%p ret;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd1, %rd1, %rd2;
    ld.global.f32 %f2, [%rd1];
    mul.f32 %f2, %f2, %f1;
    st.global.f32 [%rd1], %f2;
    ret;
}
.visible .entry several(.param .u64 several_param_0)
{
    .reg .pred %p; .reg .f32 %f<3>; .reg .b32 %r<3>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [several_param_0];
    mov.u32 %r1, %ctaid.x;
    mul.wide.u32 %rd2, %r1, 16;
    add.s64 %rd1, %rd1, %rd2;
    ld.global.v2.b32 {%r1, %r2}, [%rd1+8];
    mov.b32 %f1, %r2;
    ld.global.u64 %rd1, [%rd1];
    mov.u32 %r2, %tid.x;
    setp.ge.s32 %p, %r2, %r1;
    @%p ret;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd1, %rd1, %rd2;
    ld.global.f32 %f2, [%rd1];
    mul.f32 %f2, %f2, %f1;
    st.global.f32 [%rd1], %f2;
    ret;
}
.visible .entry table(.param .u64 table_param_0)
{
    .reg .f32 %f<3>; .reg .b32 %r<3>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [table_param_0];
    mov.u32 %r1, %ctaid.x;
    mul.wide.u32 %rd2, %r1, 8;
    add.s64 %rd1, %rd1, %rd2;
    ld.global.u64 %rd1, [%rd1];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd1, %rd1, %rd2;
    ld.global.f32 %f1, [%rd1];
    add.f32 %f1, %f1, 0f3F800000;
    st.global.f32 [%rd1], %f1;
    ret;
}
"""


def numbers():
    return np.arange(32, dtype=np.float32)


@pytest.mark.parametrize("fields", [list, tuple])
def test_a_pointer_is_a_field_of_a_struct_beside_numbers_of_their_types(fields):
    data = numbers()
    sl.ptx.load(VIEWS)["view"].run(1, 32, fields([sl.ptx.Pointer(data), np.int32(5), np.float32(10)]))
    assert data.tolist() == [*range(0, 50, 10), *range(5, 32)]


def test_fields_are_placed_and_padded_as_c_does():
    inner = np.dtype([("a", "i1"), ("b", "<i2"), ("c", "i1")], align=True)
    whole = np.dtype([("x", inner), ("y", "i1"), ("z", "<f8"), ("w", inner, 2), ("v", "u1")], align=True)
    wanted = np.zeros(1, whole)
    wanted[0] = (1, 2, 3), 4, 5.0, [(6, 7, 8), (9, 10, 11)], 12
    fields = [[np.int8(1), np.int16(2), np.int8(3)], np.int8(4), np.float64(5),
              [np.int8(6), np.int16(7), np.int8(8)], [np.int8(9), np.int16(10), np.int8(11)], np.uint8(12)]
    assert copied(fields, whole.itemsize // 4).tobytes() == wanted.tobytes()


def test_a_list_is_where_a_pointer_points_to_and_lists_in_it_are_structs():
    one, two, three = numbers(), numbers(), numbers()
    views = [[sl.ptx.Pointer(one), np.int32(3), np.float32(2)], (sl.ptx.Pointer(two), np.int32(32), np.float32(0))]
    sl.ptx.load(VIEWS)["several"].run(2, 32, views)
    assert one[:4].tolist() == [0, 2, 4, 3] and not two.any()
    sl.ptx.load(VIEWS)["several"].run(1, 32, sl.ptx.Pointer([sl.ptx.Pointer(three), np.int32(1), np.float32(2)]))
    assert three.tolist() == numbers().tolist()


def test_a_list_of_pointers_is_an_array_of_pointers():
    arrays = [numbers() for _ in range(3)]
    trace = sl.ptx.load(VIEWS)["table"].run(3, 32, [*map(sl.ptx.Pointer, arrays)])
    assert all((array == numbers() + 1).all() for array in arrays) and not trace.hazards


def test_what_lies_behind_a_pointer_in_a_struct_is_watched_as_any_array_is():
    with pytest.raises(HazardError, match="right behind the end of"):
        sl.ptx.load(VIEWS)["table"].run(1, 32, [sl.ptx.Pointer(numbers()[:31].copy())])


PARAMS = """
.version 9.0
.target sm_90
.address_size 64
.const .align 8 .b8 params[16];
.visible .entry scale(.param .u64 scale_param_0)
{
    .reg .pred %p; .reg .f32 %f<3>; .reg .b32 %r<3>; .reg .b64 %rd<4>;
    ld.const.u64 %rd1, [params]; ld.const.u32 %r1, [params+8]; ld.const.f32 %f1, [params+12];
    mov.u32 %r2, %tid.x; setp.ge.s32 %p, %r2, %r1; @%p ret;
    mul.wide.u32 %rd2, %r2, 4; add.s64 %rd1, %rd1, %rd2;
    ld.global.f32 %f2, [%rd1]; mul.f32 %f2, %f2, %f1; st.global.f32 [%rd1], %f2; ret;
}
"""


def test_a_variable_of_a_module_takes_the_fields_of_a_struct_whatever_else_a_launch_passes():
    read, data = sl.ptx.load(PARAMS), numbers()
    read.assign("params", [sl.ptx.Pointer(data), np.int32(5), np.float32(10)])
    for other in (None, numbers(), [sl.ptx.Pointer(numbers())]):
        assert not read["scale"].run(1, 32, other).hazards
    assert data.tolist() == [*range(0, 5000, 1000), *range(5, 32)]
    read.assign("params", (sl.ptx.Pointer(data), np.int32(1), np.float32(0)))
    read["scale"].run(1, 32, data)
    assert data[:2].tolist() == [0, 1000]
    assert read.variable("params", np.int32)[2] == 1


@pytest.mark.parametrize("name, value, told", [
    ("params", [np.float64(1)] * 3, "params: 24 bytes are given, and it has 16"), ("params", [5], "as in np.int32(5)"),
    ("other", [], "no global variable 'other'; this module has params")])
def test_what_does_not_fit_a_variable_is_refused_and_not_assigned(name, value, told):
    read = sl.ptx.load(PARAMS)
    with pytest.raises(MachineError, match=re.escape(told)):
        read.assign(name, value)
    read["scale"].run(1, 32, None)
    assert not read.variable("params").any()


@pytest.mark.parametrize("value, told", [
    (np.zeros(9, np.float32), "36 bytes are given, and the struct has 16: an array is its bytes there"),
    ([np.zeros(9), np.int32(5)], "80 bytes are given, and the struct has 16: an array is its bytes there"),
    ([np.zeros(9), 5, 1.0], "give a number its type, as in np.int32(5)"), ([None, "5"], "not str"),
    (sl.ptx.Pointer(5), "a Pointer is to an array, or to a list of fields, not to int"),
    (sl.ptx.Pointer(np.zeros(1, object)), "a list of sl.ptx.Pointer is an array of pointers"),
    ([sl.ptx.Pointer([np.zeros(3)])], "write [sl.ptx.Pointer(array), ...] for an array of pointers")])
def test_what_is_no_field_is_refused_with_what_would_be_one(value, told):
    with pytest.raises(MachineError, match=r"^view: argument 1 of 1 \(param_0: 16 bytes\): .*" + re.escape(told)):
        sl.ptx.load(VIEWS)["view"].run(1, 32, value)


# ---- arrays ------------------------------------------------------------------------------------------------------------

DTYPES = [np.float16, np.int8, bool, np.complex128, "datetime64[s]", "timedelta64[D]", "S12", "U3", ">i4", np.longdouble,
          ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.int4, [("x", "<f4"), ("n", "u1", 3)], "V16"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_an_array_of_any_dtype_is_its_bytes(dtype):
    made = np.zeros(64, dtype)
    made.view(np.uint8).reshape(-1)[:] = np.arange(made.nbytes, dtype=np.uint8)
    assert copied(made, 8).tobytes() == made.tobytes()[:32]


def test_a_pointer_is_to_element_0_of_a_view_whatever_its_strides():
    base = np.arange(64, dtype=np.uint32)
    for view in (base[8:], base[::2], base.reshape(8, 8).T, base.reshape(8, 8)[2:, 2:], base[20:21]):
        assert copied(view, 1)[0] == view.flat[0]
    assert copied(base[40::-1], 1)[0] == 40


def test_views_of_one_array_share_their_memory():
    whole = np.zeros(64, np.int32)
    module_ = sl.ptx.load(module(WRITE, ["u64"]))
    module_.entry().run(1, 8, whole[8:])
    assert whole[8:16].tolist() == list(range(8)) and not whole[16:].any() and not whole[:8].any()


def test_an_array_of_no_axes_is_a_pointer_to_its_one_element():
    one = np.array(7, np.int32)
    sl.ptx.load(module(WRITE, ["u64"])).entry().run(1, 1, one)
    assert one == 0


def test_an_empty_array_has_an_address_and_no_bytes():
    with pytest.raises(HazardError, match=r"outside every array that was passed"):
        sl.ptx.load(module(WRITE, ["u64"])).entry().run(1, 1, np.zeros(0, np.int32))


def test_none_is_a_null_pointer():
    with pytest.raises(HazardError, match="4 bytes at 0x0, behind a null pointer, outside every array"):
        sl.ptx.load(module(WRITE, ["u64"])).entry().run(1, 1, None)
    assert int(passed("u64", None)[0]) == 0


@pytest.mark.parametrize("make", [lambda a: a.setflags(write=False) or a, lambda a: np.broadcast_to(a, (4, 64)),
                                  lambda a: np.frombuffer(bytes(256), np.int32)])
def test_a_read_only_array_may_be_read_and_a_write_to_it_is_one_line(make):
    array = make(np.zeros(64, np.int32))
    assert copied(array, 8).tolist() == [0] * 8
    with pytest.raises(AddressError, match=r"<text>:\d+: CTA \(0, 0, 0\), warp 0: the int32 array .* is read-only: pass"):
        sl.ptx.load(module(WRITE, ["u64"])).entry().run(1, 8, array)


@pytest.mark.parametrize("dtype", [object, [("a", object)]], ids=str)
def test_an_array_of_objects_is_refused_by_both_front_ends(dtype):
    array = np.zeros(4, dtype)
    with pytest.raises(MachineError, match="an array of .* holds Python objects"):
        sl.ptx.load(module(WRITE, ["u64"])).entry().run(1, 1, array)
    with pytest.raises(MachineError, match=r"argument 1 \(a\): an array of .* holds Python objects"):
        sl.machine.run(lambda a: None, 1, 32, array)


def test_an_access_past_the_end_says_how_far_and_of_which_array():
    where = r"4 bytes at 0x7f0000000020, right behind the end of the int32 array of shape \(8,\) of argument 1"
    with pytest.raises(HazardError, match=f"{where}, outside"):
        sl.ptx.load(module(WRITE, ["u64"])).entry().run(1, 9, np.zeros(8, np.int32))
    with pytest.raises(HazardError, match=rf"{where} \(numbers\), outside"):
        sl.ptx.load(module(WRITE, ["u64"]).replace("kernel_param_0", "numbers")).entry().run(1, 9, np.zeros(8, np.int32))


def test_around_a_view_is_out_of_bounds_and_a_pointer_into_an_array_may_access_all_of_it():
    entry = sl.ptx.load(module(WRITE.replace("[%rd1]", "[%rd1+-4]"), ["u64"])).entry()
    whole = np.full(8, 77, np.int32)
    before = r"4 bytes before the int32 array of shape \(7,\) of argument 1, in the memory of which that is a view, outside"
    with pytest.raises(HazardError, match=before):
        entry.run(1, 8, whole[1:])
    assert not entry.run(1, 8, sl.ptx.Pointer(whole, 1)).hazards and 77 not in whole
    with pytest.raises(HazardError, match=r"right behind the end of the int32 array of shape \(8,\) of argument 1, outside"):
        entry.run(1, 9, sl.ptx.Pointer(whole, 1))
    for pointer in (sl.ptx.Pointer(whole, 9), sl.ptx.Pointer(whole[::2], 1), sl.ptx.Pointer([np.int32(1)], 1)):
        with pytest.raises(MachineError, match="argument 1 .* behind the first: give a C-contiguous array"):
            entry.run(1, 1, pointer)


def test_a_race_on_a_variable_of_the_module_names_it_as_cxx_does():
    body = "mov.u32 %r1, %ctaid.x; st.global.u32 [_ZN4mine5countE], %r1; ret;"
    text = module(body, before=".global .align 4 .u32 _ZN4mine5countE;")
    with pytest.raises(HazardError, match=r"of the variable mine::count, which"):
        sl.ptx.load(text).entry().run(2, 1)


def test_an_address_near_an_argument_is_told_of_that_though_other_memory_lies_nearer():
    space = GlobalSpace(Allocation)
    passed, other = np.zeros(64), np.zeros(1)
    for address, array in ((0x10000, passed), (0x10400, other)):           # 512 bytes, and 8 behind a gap of as many
        space._roots[Allocation(array).root] = address
        space.address(array)
    assert space.nearest(0x10000 + 800) == "224 bytes before the float64 array of shape (1,)"
    space._ranges[1][2].passed_as(1, "a")
    assert space.nearest(0x10000 + 800) == "288 bytes past the end of the float64 array of shape (64,) of argument 1 (a)"
    assert space.nearest(0x10400 + 8 + 4096) == "4096 bytes past the end of the float64 array of shape (1,)"
