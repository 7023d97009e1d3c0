"""What a Triton kernel is called with, as Triton takes it and as its PTX does: NumPy arrays, torch tensors of the CPU,
numbers, and tensor descriptors that the host makes."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np

from simlayout.errors import MachineError
from simlayout.hardware.matrix.tma import TensorMap
from simlayout.machine.ptx.arguments import Pointer
from simlayout.machine.ptx.memory.maps import ELEMENTS, FILLS, SWIZZLES


class Tensor(np.ndarray):
    """A NumPy array with what Triton asks of a tensor."""

    def data_ptr(self) -> int:
        """Where element [0, ..., 0] lies, as if the memory that it views were a GPU allocation."""
        root: np.ndarray = self
        while isinstance(root.base, np.ndarray):
            root = root.base
        return self.__array_interface__["data"][0] - np.lib.array_utils.byte_bounds(root)[0]


class TorchTensor:
    """A torch tensor of the CPU, with all that heuristics and hooks ask of it, whose memory Triton takes for a GPU's. array:
    a Tensor over that."""

    def __init__(self, tensor: Any):
        self._tensor, self.array = tensor, _of_torch(tensor)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tensor, name)

    def data_ptr(self) -> int:
        """As of Tensor."""
        return self.array.data_ptr()

    @property
    def given(self) -> Any:
        """What `Entry.run` takes: the array; of one that is expanded, by a stride of 0, a pointer into all of its storage,
        because a kernel that gets it has strides of its own."""
        if all(step or n == 1 for n, step in zip(self.array.shape, self.array.strides)):
            return self.array
        storage = np.asarray(_Storage(self._tensor.untyped_storage()))
        size = self.array.itemsize
        return Pointer(storage[:len(storage) // size * size].view(self.array.dtype), _offset(self._tensor) // size)


class _Storage:
    """The memory of a torch tensor, as NumPy asks for it; keeps it."""

    def __init__(self, storage):
        self._storage = storage
        self.__array_interface__ = {"version": 3, "typestr": "|u1", "shape": (storage.nbytes(),),
                                    "data": (storage.data_ptr(), False)}


def taken(value: Any) -> Any:
    """What Triton takes of a value, or of each of a tuple: a Tensor of an array, a TorchTensor, a Python number of a NumPy
    scalar. Raises MachineError for what a kernel cannot have.

    >>> taken((np.float32(0.5), np.int64(2), None))
    (0.5, 2, None)
    """
    if type(value) is tuple:
        return tuple(map(taken, value))
    if hasattr(value, "untyped_storage"):
        return TorchTensor(value)
    if isinstance(value, np.ndarray):
        if str(value.dtype) not in import_module("triton._utils").type_canonicalisation_dict:
            raise MachineError(f"an array of {value.dtype}: Triton has no such type")
        return value.view(Tensor)
    return value.item() if isinstance(value, np.generic) else value


def _offset(tensor):
    """How many bytes behind the start of its storage a tensor begins."""
    return tensor.data_ptr() - tensor.untyped_storage().data_ptr()


def _of_torch(tensor):
    """A Tensor over the memory of a torch tensor."""
    import ml_dtypes  # noqa: F401                           # NumPy then knows bfloat16 and its kin by their names

    if tensor.device.type != "cpu":
        raise MachineError(f"a tensor on {tensor.device}: a simulated GPU has the memory of the CPU, so pass one of the "
                           "CPU, as tensor.cpu() is")
    dtype = np.dtype(str(tensor.dtype).removeprefix("torch."))
    strides = [n * dtype.itemsize for n in tensor.stride()]
    return np.ndarray(tuple(tensor.shape), dtype, np.asarray(_Storage(tensor.untyped_storage())),
                      _offset(tensor), strides).view(Tensor)


def passed(kind: Any, value: Any, descriptors: Iterator[dict]) -> Iterator[Any]:
    """What `Entry.run` takes of an argument of a type, as Triton names it; nothing of a constant. descriptors: what Triton
    compiled of each TensorDescriptor, in their order; none where it does without TMA."""
    if isinstance(kind, tuple):
        for each, part in zip(kind, value, strict=True):
            yield from passed(each, part, descriptors)
    elif kind.startswith("tensordesc"):
        yield from _described(value, next(descriptors, None))
    elif kind != "constexpr":
        yield {"fp16": np.float16, "fp32": np.float32, "f32": np.float32}.get(kind, _given)(value)


def _given(value):
    """What is given of a TorchTensor; another value as it is."""
    return value.given if isinstance(value, TorchTensor) else value


def _described(descriptor, compiled):
    """A TensorDescriptor as Triton's launcher passes it: a tensor map, its shape and its strides; or everything apart."""
    base, (shape, strides) = taken(descriptor.base), (descriptor.shape, descriptor.strides)
    base = base.array if isinstance(base, TorchTensor) else base
    nan, rounded = descriptor.padding == "nan", descriptor.round_f32_to_tf32
    if compiled is None:
        return [base, *shape, *strides, nan, rounded, *shape, *strides]
    if compiled["fp4_padded"] or compiled.get("is_im2col"):
        raise MachineError("a TensorDescriptor of fp4 or im2col is not supported here")
    array = np.lib.stride_tricks.as_strided(base, shape, [n * base.itemsize for n in strides])
    dtype = "tf32" if rounded else ELEMENTS[compiled["elem_type"]]
    made = TensorMap.of(array, compiled["block_size"][::-1], SWIZZLES[compiled["swizzle"]], dtype, FILLS[nan])
    return [made, *shape, *strides]
