"""What arrays of scales mean, by their shapes: as torch._scaled_mm takes them, and where a kernel finds each (in bytes)."""

from dataclasses import dataclass

from cuda_kernels.kernels.hopper.scales import BLOCK, grains_of
from simlayout.errors import SimlayoutError


@dataclass(frozen=True)
class Scales:
    """The scales of A or B. grain: rows (columns of B) that share one; step: bytes from one to the next along these, deep:
    along K; 0 where all share one. by_blocks: whether there is one for every 128 of K."""

    grain: int
    step: int
    deep: int
    by_blocks: bool


def scales_of(name, shape, strides, dtype, lines, K):
    """The Scales of an array. name: "scale_a" or "scale_b"; strides: BYTES; dtype: NumPy's name; lines: rows of A, or
    columns of B; K: of the product. Raises SimlayoutError for other shapes and types.

    >>> scales_of("scale_b", (1, 64), (256, 4), "float32", 64, 512)
    Scales(grain=1, step=4, deep=0, by_blocks=False)
    >>> scales_of("scale_a", (64, 4), (16, 4), "float32", 64, 512)
    Scales(grain=1, step=16, deep=4, by_blocks=True)
    >>> scales_of("scale_b", (4, 1), (4, 4), "float32", 64, 512)
    Scales(grain=128, step=0, deep=4, by_blocks=True)
    """
    blocks, deep_blocks = -(-lines // BLOCK), -(-K // BLOCK)
    along, deep = (0, 1) if name == "scale_a" else (1, 0)
    given = tuple(shape)
    if dtype == "float32" and set(shape) <= {1}:
        return Scales(BLOCK, 0, 0, False)
    if len(shape) == 1:
        shape, strides = ((*shape, 1), (*strides, 0)) if name == "scale_a" else ((1, *shape), (0, *strides))
    kinds = {(blocks, deep_blocks): (BLOCK, True), (lines, deep_blocks): (1, True), (lines, 1): (1, False)}
    found = kinds.get((shape[along], shape[deep])) if len(shape) == 2 else None
    if dtype != "float32" or found is None:
        each, *by_blocks = dict.fromkeys(kind if name == "scale_a" else kind[::-1] for kind in reversed(kinds))
        raise SimlayoutError(f"{name} is {dtype} of shape {given}: pass float32 of 1 element, or of shape {each}"
                             + f"; for every 128 of K {' or '.join(map(str, by_blocks))}" * bool(by_blocks))
    step, further = (strides[axis] * (shape[axis] > 1) for axis in (along, deep))
    if max(step, further) >= 1 << 31:
        raise SimlayoutError(f"{name} has strides of {tuple(strides)} bytes: the kernels count up to {(1 << 31) - 1}")
    return Scales(found[0], step, further, found[1])


def scales_named(scaled):
    """{"a", "b": Scales} of contiguous arrays without a step along K, for Hopper's option `scaled`; {} for "".

    >>> scales_named("1x128")["b"]
    Scales(grain=128, step=4, deep=0, by_blocks=True)
    """
    grains = grains_of(scaled)
    step = 0 if scaled == "tensor" else 4
    return {which: Scales(grain, step, 0, bool(grains)) for which, grain in zip("ab", grains or (1, 1))} if scaled else {}


def taken_by(scaled, of_a, of_b):
    """Whether a kernel with Hopper's option `scaled` takes the Scales of A and of B: it counts rows or columns that share
    one, and only with scales of blocks along K.

    >>> taken_by("lines", Scales(128, 0, 0, False), Scales(1, 4, 0, False)), taken_by("lines", *[Scales(1, 4, 4, True)] * 2)
    (True, False)
    """
    grains = grains_of(scaled) or ((1, 1) if scaled == "lines" else (0, 0))
    fine = all(of.step == 0 or of.grain == grain for of, grain in zip((of_a, of_b), grains))
    return fine and (grains_of(scaled) or not (of_a.deep or of_b.deep))


def scaled_by(of_a, of_b):
    """Hopper's option `scaled` for the Scales of A and of B.

    >>> scaled_by(Scales(1, 16, 4, True), Scales(128, 4, 8, True)), scaled_by(Scales(1, 4, 0, False), Scales(1, 4, 0, False))
    ('1x128', 'lines')
    """
    if of_a.by_blocks or of_b.by_blocks:
        return f"{of_a.grain}x{of_b.grain}"
    return "lines" if of_a.step or of_b.step else "tensor"
