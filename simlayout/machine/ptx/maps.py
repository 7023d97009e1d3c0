"""Tensor maps as arguments: 128 bytes, as a CUtensorMap is, that name a simlayout.TensorMap.

What cuTensorMapEncodeTiled writes into them is not documented, so the bytes are of our own; a program copies them and passes
their address, and never looks inside.
"""

from typing import Any

from simlayout.errors import MachineError

MAP_BYTES = 128
"""Of a CUtensorMap (CUDA Driver API)."""

_MARK = b"simlayout.TensorMap number "


class Maps:
    """The tensor maps of a launch.

    >>> from simlayout.hardware.matrix.tma import TensorMap
    >>> import numpy as np
    >>> maps, tensor = Maps(), TensorMap.of(np.zeros((64, 64)), (16, 8))
    >>> maps.named(maps.encoded(tensor), 0) is tensor
    True
    """

    def __init__(self) -> None:
        self._maps: list[Any] = []

    def encoded(self, tensor_map: Any) -> bytes:
        """The bytes that stand for a TensorMap. Raises MachineError for one without an array."""
        if tensor_map.array is None:
            raise MachineError("a TensorMap without an array: make it with simlayout.TensorMap.of(array, box)")
        self._maps.append(tensor_map)
        return (_MARK + str(len(self._maps) - 1).encode()).ljust(MAP_BYTES, b" ")

    def named(self, data: bytes, address: int) -> Any:
        """The TensorMap that bytes at an address stand for."""
        number = data[len(_MARK):].strip()
        if not data.startswith(_MARK) or not number.isdigit() or int(number) >= len(self._maps):
            raise MachineError(f"the bytes at {address:#x} are no tensor map that was passed: pass a simlayout.TensorMap as "
                               "the argument (what cuTensorMapEncodeTiled encodes is not documented, so it cannot be read)")
        return self._maps[int(number)]


def is_map(value: Any) -> bool:
    """Whether an argument is a TensorMap."""
    return hasattr(value, "box_bytes") and hasattr(value, "array")
