"""Arrays of every library become one Operand, and what is none is refused by name."""

import ctypes
import sys
import types

import ml_dtypes
import numpy as np
import pytest
from fake_driver import DTYPES
from host_kit import Device, host, install
from hypothesis import given
from hypothesis import strategies as st

from cuda_kernels.matmul import arrays, dlpack
from simlayout.errors import SimlayoutError


def make_cupy():
    """A module like CuPy: arrays over NumPy memory."""
    cupy = types.ModuleType("cupy")

    class ndarray:
        def __init__(self, array):
            self.array = array
            self.shape, self.strides, self.dtype = array.shape, array.strides, array.dtype
            self.data = types.SimpleNamespace(ptr=array.ctypes.data, device_id=0)

    ndarray.__module__ = "cupy._core.core"
    cupy.ndarray, cupy.empty, cupy.stream = ndarray, lambda shape, dtype: ndarray(np.empty(shape, dtype)), 0x40

    class Scope:
        def __init__(self, *_):
            pass

        def __enter__(self):
            pass

        def __exit__(self, *_):
            pass

    cupy.cuda = types.SimpleNamespace(Device=Scope, ExternalStream=Scope,
                                      get_current_stream=lambda device: types.SimpleNamespace(ptr=cupy.stream))
    return cupy


class Dlpack:
    """An array that offers DLPack alone; the capsule is NumPy's, said to lie on a GPU."""

    def __init__(self, array, place=(2, 0)):
        self.array, self.place = array, place

    def __dlpack_device__(self):
        return self.place

    def __dlpack__(self, stream=None):
        capsule = self.array.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        tensor = dlpack._Tensor.from_address(pointer(capsule, b"dltensor"))
        tensor.device_type, tensor.device = self.place
        return capsule


def everyone(torch, array):
    return {"torch": torch.Tensor(array), "cupy": make_cupy().ndarray(array), "cai": Device(array), "dlpack": Dlpack(array)}


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_every_library_describes_the_same_array_alike(shape, data):
    with pytest.MonkeyPatch.context() as patch:
        _, torch = install(patch)
        from cuda_kernels.run import driver

        array = np.zeros([2 * n for n in shape], np.float16)[tuple(slice(None, None, 2) for _ in shape)]
        array = array.transpose(data.draw(st.permutations(range(len(shape)))))
        for kind, x in everyone(torch, array).items():
            made = arrays.operand(x, "a", driver.cuda())
            assert (made.address, made.shape, made.dtype, made.device, made.kind) == (
                array.ctypes.data, array.shape, "f16", 0, kind)
            assert all(x == y for x, y, n in zip(made.strides, array.strides, array.shape) if n > 1)
            assert made.extent == np.ptp(_addresses(array)) + 2


def _addresses(array):
    at = np.zeros(array.shape, np.int64)
    for axis, stride in enumerate(array.strides):
        at += np.arange(array.shape[axis]).reshape([-1 if i == axis else 1 for i in range(array.ndim)]) * stride
    return at


def test_equal_looks_differ_in_the_address_alone(machine, cuda):
    _, torch = machine
    x, y = np.zeros((4, 8), np.float16), np.zeros((4, 8), np.float16)
    for (_, a), (_, b) in zip(everyone(torch, x).items(), everyone(torch, y).items()):
        (look_a, at_a), (look_b, at_b) = arrays.look(a, "a"), arrays.look(b, "b")
        assert hash(look_a) is not None and (at_a, at_b) == (x.ctypes.data, y.ctypes.data)
        assert (look_a == look_b) == (at_a % 16 == at_b % 16)
        for other in (x.T, x[:2], x.astype(np.float32), x[:, 1:]):
            assert arrays.look(type(a)(other), "a")[0] != look_a


def test_bfloat16_is_known_by_its_name_where_the_type_string_cannot_tell(machine, cuda):
    made = arrays.operand(Device(np.zeros(4, DTYPES["bf16"])), "a", cuda)
    assert (made.dtype, made.itemsize) == ("bf16", 2)


def test_cpu_memory_and_strange_arrays_are_refused(machine, cuda):
    library, torch = machine
    host = np.zeros(8, np.float16)
    library.cpu.add(host.ctypes.data)
    strange = types.SimpleNamespace(__cuda_array_interface__={})
    sparse = torch.Tensor(host)
    sparse.data_ptr = None
    unaligned = np.zeros(17, np.uint8)[1:].view(np.float16)
    masked = Device(np.zeros(8, np.float16))
    cases = [
        (host, "x is a NumPy array: in the CPU's memory; copy it"),
        (Device(host), "x lies in the CPU's memory"),
        (Dlpack(np.zeros(8, np.float16), (1, 0)), "x is a Dlpack in the CPU's memory"),
        (torch.Tensor(host, device=-1), "x is a torch tensor in the CPU's memory"),
        (Device(np.zeros(8, np.int64)), "x is int64; matmul takes"),
        (Device(np.zeros(8, ml_dtypes.float8_e4m3fnuz)), "x is float8_e4m3fnuz; matmul takes"),
        (Device(np.zeros(8, bool)), "x is bool; matmul takes"),
        (Dlpack(np.zeros(8, np.int16)), "x is int16; matmul takes"),
        (Dlpack(np.zeros(8, bool)), "x is bool; matmul takes"),
        (Device(np.zeros(8, np.float16)[::-1]), "x has a negative stride"),
        (Device(unaligned), "x is not aligned to its 2-byte elements"),
        (7, "x is int: not an array on a GPU.*; a number is passed as alpha$"),
    ]
    for x, message in cases:
        with pytest.raises(SimlayoutError, match=message):
            arrays.operand(x, "x", cuda)
    for x in (strange, sparse):
        with pytest.raises(SimlayoutError, match="x is no array of numbers in memory"):
            arrays.operand(x, "x", cuda)
    assert arrays.operand(masked, "x", cuda).stream is None


def test_new_arrays_are_of_the_same_kind(machine, monkeypatch):
    _, torch = machine
    cupy = make_cupy()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    for dtype in ("f16", "bf16", "f32"):
        for like in (torch.empty((2,), kind, 0) for kind in (torch.float16, torch.bfloat16, torch.float32)):
            made = arrays.new(like, "torch", (3, 5), dtype, 0)
            assert isinstance(made, torch.Tensor) and made.array.dtype == DTYPES[dtype] and made.shape == (3, 5)
        made = arrays.new(None, "cupy", (3, 5), dtype, 0, stream=5)
        assert isinstance(made, cupy.ndarray) and made.dtype == DTYPES[dtype]


def test_the_current_stream_is_the_librarys(machine, monkeypatch):
    _, torch = machine
    monkeypatch.setitem(sys.modules, "cupy", make_cupy())
    torch.stream = 0x80
    assert [arrays.current_stream(kind, 0)() for kind in ("torch", "cupy", "cai")] == [0x80, 0x40, 0]


def test_every_librarys_stream_has_a_handle():
    for attribute in ("cuda_stream", "ptr"):
        assert arrays.handle(types.SimpleNamespace(**{attribute: 1 << 40})) == 1 << 40
    assert arrays.handle(types.SimpleNamespace(__cuda_stream__=lambda: (0, 99))) == 99
    assert arrays.handle(types.SimpleNamespace(__cuda_stream__=(0, 98))) == 98
    for stream, shown in ((None, "NoneType"), (True, "True"), (-1, "-1")):
        with pytest.raises(SimlayoutError, match=f"stream is {shown}: pass"):
            arrays.handle(stream)


def test_a_dlpack_array_is_multiplied(machine):
    a, b = np.eye(16, dtype=np.float16), np.arange(256, dtype=np.float16).reshape(16, 16)
    out = np.zeros((16, 16), np.float16)
    host.matmul(Dlpack(a), Dlpack(b), Dlpack(out))
    assert np.array_equal(out, b)
