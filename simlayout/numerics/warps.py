"""mma.sync and mma.sp as warps execute them: from the registers of A, B and C to those of D."""

from dataclasses import replace
from functools import cached_property, lru_cache

import numpy as np

from simlayout.algebra.dtypes import TYPES
from simlayout.arguments import typed
from simlayout.errors import InstructionError
from simlayout.hardware import fragment, metadata_nibbles, sparse_mma
from simlayout.hardware.tables.arch import DEFAULT_ARCH, LANES, Arch
from simlayout.hardware.tables.tensor_ops import tensor_op
from simlayout.numerics.arithmetic import by_numpy, compiled_functions
from simlayout.numerics.product import multiplied
from simlayout.numerics.rules import rule


class WarpMma:
    """One mma.sync, for any number of warps; `warp_mma` makes it.

    word: uint32, of f64 uint64: the dtype of the words. registers: of A, B, C and D, per lane.

    >>> mma = warp_mma("m16n8k8.f32.f16.f16.f32")
    >>> mma.registers
    (2, 1, 4, 4)
    >>> words = np.full((5, 7, 32), 0x3C003C00, np.uint32)       # of five warps; two f16, 1 and 1, in each
    >>> words[:, 3:] = np.float32(1).view(np.uint32)
    >>> d = mma(words)
    >>> d.shape, d.view(np.float32)[4, 0, :3].tolist()
    ((5, 4, 32), [9.0, 9.0, 9.0])
    """

    def __init__(self, name: str, arch: str | Arch):
        self.op, self.rule = tensor_op(name, arch), rule(name, arch)
        self._fragments = [fragment(name, operand) for operand in "ABCD"]
        self.registers = tuple(f.registers for f in self._fragments)
        self.word = np.dtype(np.uint64 if self.op.a == "f64" else np.uint32)
        a, b, _ = np.cumsum(self.registers[:3])
        self._first = 0, int(a), int(b), 0                       # registers before those of each operand

    def __call__(self, words: np.ndarray) -> np.ndarray:
        """words: [n, registers of A, then of B, then of C, 32], raw bits of `word`.

        Returns those of D, [n, registers, 32]."""
        words = np.ascontiguousarray(words, self.word)
        if compiled_functions() is None:
            return self._by_numpy(words)
        d = np.empty((len(words), self.registers[3], LANES), self.word)
        given = words.reshape(-1).view(np.uint32)
        given.flags.writeable = False
        self._program.run(len(words), given, given, given, d.reshape(-1).view(np.uint32))
        return d

    @property
    def arguments(self) -> tuple[np.ndarray, ...]:
        """What says to a function of `loops` how it is done, as of a Program."""
        return self._program.arguments

    @cached_property
    def _program(self):
        """The Program of the loops. Where an element lies is a sum, of what its row says and what its column says."""
        from simlayout.numerics.compiled import Places, Program

        def places(f, first, registers):
            each = self._each(f)
            index = _places(f) + first * LANES * each
            return Places(registers * LANES * each, index[:, 0], index[0] - index[0, 0], 8 * self.word.itemsize // each)

        a, b, c, d = map(places, self._fragments, self._first, [sum(self.registers[:3])] * 3 + [self.registers[3]])
        return Program(self.op, self.rule, Places(a.tile, a.second, a.first, a.bits), b, c, d)

    def _by_numpy(self, words):
        n, fragments, places = len(words), self._fragments, self._places
        a, b = (_elements(words[:, first:first + f.registers], f).take(place, axis=1).swapaxes(0, 1)[None]
                for first, f, place in zip(self._first, fragments[:2], places))
        start = words[:, self._first[2]:].view(TYPES[self.op.c].plain).reshape(n, -1).take(places[2], axis=1)
        if self._turned:
            a, b = b, a
        result = by_numpy(self._turned or self.op, self.rule, a, b, start).reshape(n, -1).take(places[3], axis=1)
        return result.view(self.word).reshape(n, -1, LANES)

    @cached_property
    def _turned(self):
        """The instruction that computes D transposed, whose longer rows are quicker; None of f64, whose NaN may differ."""
        op = self.op
        return None if self.rule.kind == "fma" else replace(op, m=op.n, n=op.m, a=op.b, b=op.a)

    @cached_property
    def _places(self):
        """Where the elements lie of A [k, m], B [k, n] and C as NumPy adds to it, and the element of D at each place."""
        a, b, c, d = map(_places, self._fragments)
        return a.T, b, c.T if self._turned else c, (d.T if self._turned else d).reshape(-1).argsort()

    def _each(self, f):
        """Elements of a fragment in a word."""
        return 8 * self.word.itemsize // TYPES[f.dtype].bits


class WarpSparseMma:
    """One mma.sp with one sparsity selector, for any number of warps; `warp_mma` makes it.

    word: uint32. registers: of A, B, C and D, per lane.
    """

    word = np.dtype(np.uint32)

    def __init__(self, name: str, arch: str | Arch, selector: int):
        self.op, self.rule = tensor_op(name, arch), rule(name, arch)
        self._a, self._b, self._c, self._d = (fragment(name, operand) for operand in "ABCD")
        self.registers = tuple(f.registers for f in (self._a, self._b, self._c, self._d))
        self._selector = sparse_mma(name).check_selector(selector)

    def __call__(self, words: np.ndarray) -> np.ndarray:
        """words: uint32 [n, registers of A, then of B, of C, and one of metadata, 32].

        Returns those of D, [n, registers, 32]."""
        words = np.ascontiguousarray(words, self.word)
        of_a, of_b, of_c, of_metadata = np.split(words, np.cumsum(self.registers[:3]), axis=1)
        a, b, c = (_elements(part, f).take(_places(f), axis=1)
                   for part, f in ((of_a, self._a), (of_b, self._b), (of_c, self._c)))
        metadata = metadata_nibbles(self.op.name, of_metadata[:, 0], self._selector)
        d = multiplied(self.op, self.rule, a, b, c.view(TYPES[self.op.c].plain), metadata)
        at = _places(self._d).reshape(-1).argsort()
        return d.reshape(len(words), -1).take(at, axis=1).view(self.word).reshape(len(words), -1, LANES)


def _elements(words, f):
    """Words [n, registers, 32] as elements [n, all of the fragment], as `arithmetic` takes A and B."""
    bits = TYPES[f.dtype].bits
    if bits < 8:
        words = (words[..., None] >> np.arange(0, 32, bits, dtype=np.uint32) & ((1 << bits) - 1)).astype(np.uint8)
    return np.ascontiguousarray(words).reshape(len(words), -1).view(TYPES[f.dtype].operand)


@lru_cache(None)
def _places(f):
    """Where each element of a fragment's matrix lies in its words [registers, 32], counted in elements: int [rows, cols]."""
    lane, value = np.meshgrid(np.arange(f.lanes), np.arange(f.values), indexing="ij")
    row, col = np.moveaxis(f.coordinates(), -1, 0)
    places = np.empty(f.shape, np.int64)
    places[row, col] = (value // f.per_register * LANES + lane) * f.per_register + value % f.per_register
    return places


@typed(InstructionError)
@lru_cache(None)
def warp_mma(name: str, arch: str | Arch = DEFAULT_ARCH, selector: int = 0) -> WarpMma | WarpSparseMma:
    """The WarpMma of a name of mma.sync, such as "m16n8k16.f32.f16.f16.f32", on an architecture; the WarpSparseMma of one
    of mma.sp, such as "mma.sp.m16n8k32.f32.f16.f16.f32". selector: of mma.sp, the instruction's last operand.

    Raises InstructionError for an unknown name, one of wgmma, an architecture without the instruction, or a selector that
    it has not.

    >>> warp_mma("m16n8k16.f32.f16.f16.f32").registers             # 32-bit registers of A, B, C and D that a lane holds
    (4, 2, 4, 4)
    >>> warp_mma("mma.sp.m16n8k32.f32.f16.f16.f32", selector=1).registers
    (4, 4, 4, 4)
    """
    if tensor_op(name, arch).sparse:
        return WarpSparseMma(name, arch, selector)
    return WarpMma(name, arch)
