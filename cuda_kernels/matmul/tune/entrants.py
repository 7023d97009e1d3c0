"""Configurations made ready to be measured at a product: operands in memory, launches of each, and whether each is right."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from cuda_kernels.kernels.hopper.activations import ACTIVATIONS
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.kernels.hopper.epilogue import EPILOGUES
from cuda_kernels.kernels.hopper.kernel import kernel_of
from cuda_kernels.kernels.hopper.scaling import scales_named
from cuda_kernels.matmul.finish import Finish
from cuda_kernels.matmul.product import ALIGNED
from cuda_kernels.matmul.steps import GroupedSteps, HopperSteps
from cuda_kernels.matmul.tune.groups import sizes_of
from cuda_kernels.run.turns import sets_of
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import SimlayoutError
from simlayout.numerics.formats import exact, nearest

BLOCK = (1 << 20) + 7
"""Random elements of which all operands are made, again and again: an odd number, so that lines do not repeat."""

ROWS, COLS = 8, 256
"""Elements of C that are compared with float64: so many columns of so many rows."""

TOLERANCE = {16: 0.03, 8: 0.25}
"""By bits of an operand: the largest error that counts as rounding, over the square root of K, which is the size of C's
elements, because operands are normal. A tensor core keeps 13 bits behind the point of 8-bit products."""

ROUNDING = {"s32": 0, "f32": 2.0**-23, "bf16": 2.0**-8, "f16": 2.0**-10}
"""By the type of C: the same of sums of integers, which are exact, over the element itself."""

INFINITE = 65520
"""From here on a number is an infinite one when it is rounded to f16."""


@dataclass
class Entrant:
    """config: a configuration; calls: what multiplies each set of operands; times: microseconds of its turns in a heat, of
    number `heat`."""

    config: Hopper
    calls: list[Callable]
    times: list[float] = field(default_factory=list)
    heat: int = 0

    @property
    def us(self) -> float:
        """The median of its times; infinity before the first."""
        return float(np.median(self.times)) if self.times else float("inf")


@dataclass(frozen=True)
class Array:
    """Matrices in memory. shape, strides (bytes): of the product's array; nbytes."""

    shape: tuple
    strides: tuple
    nbytes: int


def array_of(count, rows, cols, dtype, rows_contiguous=True):
    """The Array of `count` matrices, whose lines start on 16 bytes; 0 of them are one without a dimension for its number.

    >>> array_of(0, 3, 5, "f16"), array_of(2, 3, 5, "f16", rows_contiguous=False).strides
    (Array(shape=(3, 5), strides=(16, 2), nbytes=48), (80, 2, 16))
    """
    size = TYPES[dtype].bytes
    lines, length = (rows, cols) if rows_contiguous else (cols, rows)
    pitch = -(-length * size // ALIGNED) * ALIGNED
    strides = (pitch, size) if rows_contiguous else (size, pitch)
    if count == 0:
        return Array((rows, cols), strides, lines * pitch)
    return Array((count, rows, cols), (lines * pitch, *strides), count * lines * pitch)


class Operands:
    """Sets of operands for what is wanted, in memory of a Stopwatch, and all that is random in them.

    arrays: {"a", "b", "c": Array}; ends: of groups, the rows behind their last ones; sets: {role: address} of each. What an
    epilogue adds is 0, what it multiplies by is 1.
    """

    def __init__(self, watch, wanted, seed=0):
        self.wanted, self._watch, self._random = wanted, watch, np.random.default_rng(seed)
        M, N, K, count = wanted.M, wanted.N, wanted.K, wanted.matrices
        size_c = TYPES[wanted.out].bytes
        self.off = size_c if wanted.store == "direct" and TYPES[wanted.out].bits != 32 else 0     # C starts off 16 bytes
        of_a, of_b = wanted.types
        of_rows = 0 if wanted.grouped or count == 1 else count
        self.arrays = {"a": array_of(of_rows, M, K, of_a, wanted.a_major == "K"),
                       "b": array_of(count if wanted.grouped else of_rows, K, N, of_b, wanted.b_major == "MN"),
                       "c": array_of(of_rows, M, N, wanted.out)}
        self.ends = np.cumsum(sizes_of(M, count), dtype=np.int32) if wanted.grouped else None
        self._blocks = {role: normal(dtype, BLOCK, self._random) for role, dtype in zip("ab", wanted.types)}
        self.sets = [self._set() for _ in range(sets_of(sum(x.nbytes for x in self.arrays.values())))]
        self._reference = self._compared()

    def _set(self):
        """{role: address} of one set of operands."""
        places = {role: self._watch.memory(x.nbytes + 256) for role, x in self.arrays.items()}
        for role, block in self._blocks.items():
            self._watch.fill(places[role], self.arrays[role].nbytes, block.tobytes())
        for name in EPILOGUES[self.wanted.epilogue].reads:
            size = self.arrays["c"].nbytes if name != "bias" else max(self.wanted.M, self.wanted.N) * TYPES["f32"].bytes
            places[name] = self._watch.memory(size + 256) + (self.off if name != "bias" else 0)
            plain = np.full(1, name == "multiply", np.float32).astype(TYPES[self.wanted.out].numpy)
            self._watch.fill(places[name], size, plain.tobytes())
        if self.wanted.scaled:
            lines = max(self.wanted.M, self.wanted.N)
            places["scale_a"] = places["scale_b"] = self._watch.memory(4 * lines)
            self._watch.fill(places["scale_a"], 4 * lines, np.ones(1, np.float32).tobytes())
        if self.wanted.grouped:
            places["offsets"] = self._watch.memory(self.ends.nbytes)
            self._watch.fill(places["offsets"], self.ends.nbytes, self.ends.tobytes())
        return places | {"c": places["c"] + self.off}

    def _compared(self):
        """What a product is judged by: ([(address of a row of C in the first set, float64 values of some of its columns)],
        numbers of these columns)."""
        wanted, chosen = self.wanted, []
        cols = np.unique(np.r_[0, wanted.N - 1, self._random.integers(0, wanted.N, COLS - 2)])
        for i in range(ROWS):
            row = (0, wanted.M - 1)[i] if i < 2 else int(self._random.integers(wanted.M))
            matrix = self._matrix_of(row)
            k = np.arange(wanted.K)
            a = self._values("a", matrix, row, k)
            b = self._values("b", matrix, k[:, None], cols)
            activation = ACTIVATIONS.get(EPILOGUES[wanted.epilogue].activation)
            made = activation.exact(a @ b) if activation else a @ b
            chosen.append((self.sets[0]["c"] + self._at("c", matrix, row, 0), made))
        return chosen, cols

    def _matrix_of(self, row):
        """The number of the matrices of a row: its group, or any."""
        if self.wanted.grouped:
            return int(np.searchsorted(self.ends, row, "right"))
        return int(self._random.integers(self.wanted.matrices))

    def _at(self, role, matrix, row, col):
        """Bytes from the start of an array to its elements."""
        *of_matrix, of_row, of_col = self.arrays[role].strides
        return (of_matrix[0] * matrix if of_matrix else 0) + of_row * row + of_col * col

    def _values(self, role, matrix, row, col):
        """float64 elements of A or B: what the repeated block has there."""
        dtype = self.wanted.types["ab".index(role)]
        number = self._at(role, matrix, np.asarray(row, np.int64), np.asarray(col, np.int64)) // TYPES[dtype].bytes
        return values(dtype, self._blocks[role][number % BLOCK])

    def fault(self, call):
        """What is wrong with the product that a call makes of the first set, as words; None if it is right."""
        chosen, cols = self._reference
        out, size = self.wanted.out, TYPES[self.wanted.out].bytes
        nan = b"\xff" * 64                               # what is not written is no number
        self._watch.fill(self.sets[0]["c"], self.arrays["c"].nbytes, nan)
        call()
        rows = [np.frombuffer(self._watch.read(at, self.wanted.N * size), TYPES[out].plain)[cols] for at, _ in chosen]
        found, want = np.stack([values(out, bits) for bits in rows]), np.stack([want for _, want in chosen])
        if out == "f16":
            want = np.where(np.abs(want) < INFINITE, want, np.copysign(np.inf, want))
        with np.errstate(invalid="ignore"):
            off = np.where(found == want, 0, np.nan_to_num(np.abs(found - want), nan=np.inf))
        most = self._explained(want)
        if (off <= most).all():
            return None
        worst = np.argmax(np.where(off <= most, 0, off))
        return f"wrong by {off.flat[worst]:.3g}, where rounding explains {most.flat[worst]:.2g}"

    def _explained(self, want):
        """What rounding may put elements of C off by."""
        row = TYPES[self.wanted.types[0]]
        if row.exponent:
            return np.full_like(want, TOLERANCE[row.bits] * self.wanted.K ** 0.5)
        return ROUNDING[self.wanted.out] * np.where(np.isfinite(want), np.abs(want), 0)


def normal(dtype, count, random):
    """Random normal elements of a dtype, or any integers, as an array of its bits or numbers."""
    if not TYPES[dtype].exponent:
        return random.integers(*TYPES[dtype].limits, count, endpoint=True).astype(TYPES[dtype].plain)
    numbers = random.standard_normal(count, np.float32)
    if TYPES[dtype].in_numpy:
        return numbers.astype(TYPES[dtype].plain)
    return nearest(dtype, numbers)


def values(dtype, elements):
    """float64 values of elements of a dtype, as numbers or bits."""
    return elements.astype(np.float64) if TYPES[dtype].in_numpy else exact(dtype, elements)


def entrants(cuda, device, watch, operands, configs):
    """([Entrant], [what could not be launched or is wrong]) of configurations. Operands: of the product."""
    wanted = operands.wanted
    scales = scales_named(wanted.scaled)
    aligned = {"a": True, "b": True, "c": not operands.off}
    built, faults, steps = [], [], GroupedSteps if wanted.grouped else HopperSteps
    for config in configs:
        builder = steps(cuda, device, wanted.types, wanted.out, aligned, scales=scales,
                        finish=Finish(EPILOGUES[wanted.epilogue]))
        try:
            builder.build(*((x.shape, x.strides) for x in operands.arrays.values()), kernel_of(config))
            built.append((config, builder))
        except SimlayoutError as error:
            faults.append(f"{described(config)}: {error}")
    room = {role: watch.memory(size) for role, size in _room(builder for _, builder in built).items() if size}
    if "counters" in room:
        watch.fill(room["counters"], _room(builder for _, builder in built)["counters"], bytes(64))
    ready = []
    for config, builder in built:
        bound = [[step.bind(cuda, device, {"scratch": 0, "split": 0, "counters": 0} | places | room)
                  for step in builder.steps] for places in operands.sets]
        calls = [lambda launches=launches: [launch(watch.stream) for launch in launches] for launches in bound]
        wrong = operands.fault(calls[0])
        if wrong:
            faults.append(f"{described(config)}: {wrong}")
        else:
            ready.append(Entrant(config, calls))
    return ready, faults


def _room(builders):
    """Bytes of workspace by role that are enough for each of some builders; they share it, because they take turns."""
    sizes = [(b.scratch, b.split, b.counters) for b in builders]
    return dict(zip(("scratch", "split", "counters"), map(max, zip(*sizes)))) if sizes else {}


def described(config):
    """A configuration in a line: its tile, its stages, and what else differs from the usual.

    >>> described(Hopper(128, 64, 6, cluster_m=2))
    '128 x 64, 6 stages, cluster_m=2'
    """
    said = "tile_m", "tile_n", "stages", "dtype", "b_dtype", "out", "a_major", "b_major", "scaled", "epilogue", "box"
    rest = [f"{name}={value}" for name, value in config.changes.items() if name not in said]
    return ", ".join([f"{config.tile_m} x {config.tile_n}", f"{config.stages} stages", *rest])
