"""How the fragments of wmma, ldmatrix, stmatrix and movmatrix are measured: numbered elements go in, and come out elsewhere.

Elements are numbered from 1, in as many launches' digits as a type needs to hold the numbers; what comes out says which
element it is, or that it is none of them.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cuda_kernels.conformance.fragments.bits import from_memory, from_registers, to_memory, to_registers
from cuda_kernels.conformance.fragments.forms import ROWS, matrix_form, movmatrix_form, wmma_form, wmma_matrix
from simlayout.algebra.dtypes import TYPES
from simlayout.hardware.matrix.fragments import fragment
from simlayout.hardware.tables.arch import LANES

NO_ELEMENT = -1
"""The row and column of what is no element."""


def as_digits(numbers, dtype):
    """int [...] -> the digits of numbers from 0, lowest first, each a bit pattern of the type: int64 [rounds, ...]."""
    base = 1 << min(TYPES[dtype].bits, 31)
    rounds = 1
    while base ** rounds <= numbers.max():
        rounds += 1
    return np.stack([numbers // base**i % base for i in range(rounds)])


def from_digits(digits, dtype):
    """`as_digits` backwards."""
    base = 1 << min(TYPES[dtype].bits, 31)
    return sum(digit * base**i for i, digit in enumerate(digits))


def places(numbers, shape):
    """Numbers from 1 -> (row, col) of the element of a matrix that has it, int16 [..., 2]; NO_ELEMENT for none of them."""
    at = np.stack(np.divmod(numbers - 1, shape[1]), axis=-1)
    return np.where(((numbers > 0) & (numbers <= shape[0] * shape[1]))[..., None], at, NO_ELEMENT).astype(np.int16)


def holders(numbers, frag):
    """[rows, cols] of numbers from 1 of (lane, value), in lane order -> (row, col) by lane and value, int16 [32, values, 2].

    NO_ELEMENT for a value that is not there, or there twice.
    """
    coordinates = np.full((LANES * frag.values, 2), NO_ELEMENT, np.int16)
    number, first, count = np.unique(numbers, return_index=True, return_counts=True)
    sound = (number > 0) & (number <= len(coordinates)) & (count == 1)
    coordinates[number[sound] - 1] = np.stack(np.unravel_index(first[sound], frag.shape), axis=-1)
    return coordinates.reshape(LANES, frag.values, 2)


def numbered_registers(frag):
    """Registers whose (lane, value) are numbered from 1 in lane order: uint8 [1, bytes]."""
    return to_registers(np.arange(1, LANES * frag.values + 1).reshape(1, LANES, frag.values), frag.dtype)


class _OneFragment:
    """What the probes of a single fragment share: its map as the model has it."""

    def expected(self, find=fragment):
        """{operand: (row, col) of every lane and value, int16 [32, values, 2]}."""
        return {self.key: find(self.instruction, self.operand).coordinates().astype(np.int16)}

    @property
    def frag(self):
        return fragment(self.instruction, self.operand)

    @property
    def key(self):
        return self.operand or "values"


@dataclass(frozen=True)
class WmmaProbe(_OneFragment):
    """A wmma.load of numbered elements, or a wmma.store of numbered registers."""

    instruction: str
    operand: str

    @property
    def name(self):
        return self.form.name

    @cached_property
    def form(self):
        return wmma_form(self.instruction, self.operand)

    def launches(self):
        """The one table of inputs."""
        if self.operand == "store.d":
            return [(numbered_registers(self.frag),)]
        matrix = wmma_matrix(self.instruction, self.operand)
        numbers = np.arange(1, self.frag.shape[0] * self.frag.shape[1] + 1).reshape(self.frag.shape)
        lines = numbers if self.instruction.endswith(".row") else numbers.T
        spread = np.zeros((matrix.lines, matrix.stride), np.int64)
        spread[:, :matrix.length] = lines
        block = to_memory(as_digits(spread, matrix.dtype).reshape(-1, spread.size), matrix.dtype)
        return [(np.pad(block, ((0, 0), (0, matrix.bytes - block.shape[1]))),)]

    def maps(self, outs):
        """{operand: (row, col) of every lane and value as measured}."""
        out, frag = outs[0][:, 0, 0], self.frag
        if self.operand != "store.d":
            return {self.key: places(from_digits(from_registers(out, frag.dtype), frag.dtype), frag.shape)}
        matrix = wmma_matrix(self.instruction, self.operand)
        elements = from_memory(out[0], matrix.dtype)[:matrix.lines * matrix.stride].reshape(matrix.lines, matrix.stride)
        inside = elements[:, :matrix.length]
        if elements[:, matrix.length:].any():                          # a store beyond its lines has no map
            inside = np.zeros_like(inside)
        return {self.key: holders(inside if self.instruction.endswith(".row") else inside.T, frag)}


@dataclass(frozen=True)
class MatrixProbe(_OneFragment):
    """An ldmatrix of numbered elements, or a stmatrix of numbered registers."""

    instruction: str
    operand = None

    @property
    def name(self):
        return self.instruction

    @cached_property
    def form(self):
        return matrix_form(self.instruction)

    def launches(self):
        """The one table of inputs; ldmatrix: all 32 lanes bring a row, whether it is looked at or not."""
        if self.instruction.startswith("stmatrix"):
            return [(numbered_registers(self.frag),)]
        return [(to_memory(np.arange(1, 8 * LANES + 1).reshape(1, -1), "b16"),)]

    def maps(self, outs):
        """{"values": (row, col) of every lane and value as measured}."""
        out, frag = outs[0][0, 0, 0], self.frag
        if self.instruction.startswith("ldmatrix"):
            return {self.key: places(from_registers(out, "b16"), frag.shape)}
        elements = from_memory(out, "b16").reshape(ROWS.bytes // 16, 8)
        if elements[frag.shape[0]:].any():                             # a store to rows that are not its own has no map
            elements = 0 * elements
        return {self.key: holders(elements[:frag.shape[0]], frag)}


@dataclass(frozen=True)
class MovmatrixProbe(_OneFragment):
    """movmatrix of numbered elements: where those of A, whose map is that of ldmatrix, come out."""

    instruction: str = "movmatrix.trans"
    operand: str = "D"
    name = "movmatrix.trans"

    @cached_property
    def form(self):
        return movmatrix_form()

    def launches(self):
        """The one register: 8 row + col + 1 in every element of A."""
        row, col = np.moveaxis(fragment(self.instruction, "A").coordinates(), -1, 0)
        return [(to_registers((8 * row + col + 1)[None], "b16"),)]

    def maps(self, outs):
        """{"D": (row, col) in A of what every lane and value received}."""
        return {self.key: places(from_registers(outs[0][0, 0, 0], "b16"), self.frag.shape)}
