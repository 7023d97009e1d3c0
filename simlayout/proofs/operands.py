"""prove_operand, prove_tile: prove that wgmma, tcgen05.mma or a kernel's layout finds each element of a tile where TMA put
it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from simlayout.arguments import typed
from simlayout.errors import LayoutError, VerificationError, require
from simlayout.hardware.matrix.descriptor import Descriptor
from simlayout.hardware.matrix.operand_tile import K_BYTES, operand_addresses
from simlayout.hardware.matrix.tma import TensorMap
from simlayout.hardware.tables.operand_readers import operand_reader
from simlayout.proofs.certificate import Certificate, digest


@typed(LayoutError)
def prove_operand(tensor: TensorMap, loads: Sequence[tuple[Sequence[int], int]], descriptors: Sequence[Descriptor | int],
                  rows: int, origin: tuple[int, int] = (0, 0), major: str = "K",
                  element: Callable[..., Any] | None = None, reader: str = "wgmma") -> Certificate:
    """Proves that wgmma or tcgen05.mma reads every element of an operand from the bytes to which TMA loaded it.

    tensor: the TensorMap of the loads, which are [(coordinates, innermost first; shared byte address)]. descriptors: of the
    instructions along K, in order: Descriptors, or ints of 64 bits. rows: of A (64 of wgmma), N for B. origin: (mn, k), the
    first element of the tile in the matrix. major: "K" or "MN". element: a function from the tensor's coordinates, arrays in
    a tuple, innermost first, to (mn, k); None if dimension 0 is the contiguous side of the matrix, dimension 1 the other
    side, and all boxes lie in one matrix. reader: whose descriptors they are, "wgmma" or "tcgen05".

    Returns a Certificate whose digest is that of the byte addresses, int64 [rows, k]. Raises VerificationError with the
    first element that no box loads, that another one overwrites, or that is read from other bytes; LayoutError for
    arguments that do not fit together; and the errors of TensorMap.landing and operand_addresses.

    >>> from simlayout.hardware import OperandTile, TensorMap
    >>> tensor = TensorMap("f16", (4096, 4096), (8192,), (64, 128), swizzle=128)
    >>> steps = [OperandTile(128, 64, "f16").descriptor(2048).encode() + 2 * i for i in range(4)]
    >>> for claim in prove_operand(tensor, [((640, 256), 2048)], steps, 128, origin=(256, 640)).claims:
    ...     print(claim)
    64x128 boxes (1) bring each of 8192 elements, to bytes that no other element has
    4 wgmma read each where TMA put it
    """
    require(TensorMap, "prove_operand", tensor)
    steps = [d if isinstance(d, Descriptor) else Descriptor.decode(int(d), reader) for d in descriptors]
    if other := next((d for d in steps if d.reader != reader), None):
        raise LayoutError(f"a descriptor of {other.reader} among those of {reader}: say reader={other.reader!r}")
    depth = K_BYTES // tensor.itemsize
    if not steps or not loads:
        raise LayoutError("an operand needs at least one load and one descriptor")
    read = np.concatenate([operand_addresses(step, rows, depth, tensor.dtype, major) for step in steps], axis=1)
    put = _landings(tensor, loads, read.shape, origin, element or _plane(tensor, loads, major))
    _compare(put, read, len(loads), f"{reader} reads it", "is read", "make the descriptor fit the box")
    claims = _brought(tensor, loads, read), f"{len(steps)} {reader} read each where TMA put it"
    return Certificate(f"{rows} rows of {tensor.dtype}, {major}-major", claims, {"row": rows, "k": read.shape[1]},
                       dtype=tensor.dtype, arch=operand_reader(reader).arch, digest=digest(read))


@typed(LayoutError)
def prove_tile(tensor: TensorMap, loads: Sequence[tuple[Sequence[int], int]], addresses: np.ndarray,
               origin: tuple[int, int] = (0, 0)) -> Certificate:
    """Proves that a layout has every element of a tile at the bytes to which TMA loaded it.

    It is for kernels that read the tile with accesses of their own, such as ldmatrix. addresses: int64 [rows, k], the byte
    at which the layout has each element. The other arguments, the result and the errors are those of `prove_operand`.

    >>> import simlayout as sl
    >>> tensor = sl.TensorMap("f16", (4096, 4096), (8192,), (64, 128), swizzle=128)
    >>> tile = 2 * (sl.Swizzle(3, 3, 3) @ sl.Layout((128, 64), (64, 1)))(*np.indices((128, 64)))
    >>> prove_tile(tensor, [((640, 256), 0)], tile, origin=(256, 640)).claims[1]
    'the layout has each where TMA put it'
    """
    require(TensorMap, "prove_tile", tensor)
    addresses = np.asarray(addresses)
    if not loads or addresses.ndim != 2 or not addresses.size:
        raise LayoutError("a tile needs at least one load and the addresses of its elements, [rows, k]")
    put = _landings(tensor, loads, addresses.shape, origin, _plane(tensor, loads, "K"))
    _compare(put, addresses, len(loads), "the layout has it", "the layout has it", "make the layout fit the box")
    rows, depth = addresses.shape
    claims = _brought(tensor, loads, addresses), "the layout has each where TMA put it"
    return Certificate(f"{rows} rows of {tensor.dtype}, K-major", claims, {"row": rows, "k": depth},
                       dtype=tensor.dtype, arch="sm_90", digest=digest(addresses))


def _brought(tensor, loads, addresses):
    """The claim that the loads bring every element of a tile."""
    return (f"{'x'.join(map(str, tensor.box))} boxes ({len(loads)}) bring each of {addresses.size} elements, to bytes that "
            "no other element has")


def _plane(tensor, loads, major):
    """The function from coordinates to (mn, k) of a matrix in the first two dimensions."""
    if len(tensor.dims) < 2 or any(n != 1 for n in tensor.shape[:-2]) or len({tuple(c[2:]) for c, _ in loads}) > 1:
        raise LayoutError(f"boxes of {'x'.join(map(str, tensor.box))} do not lie in the first two dimensions of one matrix: "
                          "say with element=lambda c: (mn, k) where the element at tensor coordinates c is")
    return (lambda c: (c[1], c[0])) if major == "K" else (lambda c: (c[0], c[1]))


def _landings(tensor, loads, shape, origin, element):
    """int64 [rows, k] of that shape: the byte to which each element of the tile is loaded, -1 if no box holds it.

    Raises VerificationError if two elements are loaded to the same bytes, or one element to two places.
    """
    put, owner = np.full(shape, -1, np.int64), {}
    for coords, address in loads:
        at = tensor.landing(address).ravel()
        mn, k = (np.broadcast_to(x, tensor.shape).ravel() for x in element(tensor.coordinates(coords)))
        _claim_bytes(owner, at, mn, k)
        mn, k = mn - origin[0], k - origin[1]
        ours = (mn >= 0) & (mn < shape[0]) & (k >= 0) & (k < shape[1])
        mn, k, at = mn[ours], k[ours], at[ours]
        twice = (put[mn, k] >= 0) & (put[mn, k] != at)
        if twice.any():
            i = int(np.argmax(twice))
            where = {"row": int(mn[i]), "k": int(k[i]), "first": int(put[mn[i], k[i]]), "second": int(at[i])}
            raise VerificationError(f"element (row {where['row']}, k {where['k']}) is loaded to byte {where['first']} and "
                                    f"to byte {where['second']}: load it once", where)
        put[mn, k] = at
    return put


def _claim_bytes(owner, at, mn, k):
    """Enters the elements of a box in `owner` (byte -> element); VerificationError for a byte that another one has."""
    for byte, *element in zip(at.tolist(), mn.tolist(), k.tolist(), strict=True):
        before = owner.setdefault(byte, element)
        if before != element:
            raise VerificationError(f"byte {byte} holds element (mn {element[0]}, k {element[1]}) and element "
                                    f"(mn {before[0]}, k {before[1]}) of the matrix: their boxes overlap",
                                    {"byte": byte, "first": tuple(before), "second": tuple(element)})


def _compare(put, read, boxes, if_missing, if_elsewhere, mend):
    """Compares the byte of each element as TMA puts it (-1: in no box) and as it is read, int64 [rows, k] both.

    boxes: the number of TMA loads. if_missing, if_elsewhere: what the two messages say of the reader; mend: the remedy.
    Raises VerificationError at the first element that is in no box, or at another byte.
    """
    wrong = put != read
    if not wrong.any():
        return
    row, k = (int(i) for i in np.argwhere(wrong)[0])
    at = {"row": row, "k": k, "put": int(put[row, k]), "read": int(read[row, k])}
    if at["put"] < 0:
        raise VerificationError(f"element (row {row}, k {k}) is in none of {boxes} boxes, and {if_missing} at byte "
                                f"{at['read']}: load it", at)
    raise VerificationError(f"element (row {row}, k {k}) lies at byte {at['put']} and {if_elsewhere} at {at['read']}: "
                            f"{mend}", at)
