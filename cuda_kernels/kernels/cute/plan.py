"""Who touches what in shared memory of a kernel of CuTe's choices: A and B, each with its ldmatrix and its layout.

Four warps stand above one another: a CTA multiplies 64 x 64 tiles of A and B into 64 x 64 of C, each warp 16 rows of it. A
warp's tile of one step is that of `choose_ldmatrix`: 16 x k of A, 8n x k of B for a value layout (1, n, 1).
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

from simlayout.algebra import Layout, Swizzle
from simlayout.codegen import index_function
from simlayout.hardware import choose_ldmatrix
from simlayout.hardware.tables.arch import LANES
from simlayout.proofs import Access

SIDE = 64
"""Rows and columns of the tiles of A, B and C: 64 halves are the 128 bytes of one line of all banks."""

WARPS = 4
WARP_ROWS = SIDE // WARPS
CHUNK = 8
"""Halves of a 16-byte copy."""


@dataclass(frozen=True)
class Operand:
    """A or B of a case: which ldmatrix loads it, and from where.

    name: "A" or "B"; mma: "m16n8k8" or "m16n8k16"; val_layout: (1, n, 1); major: "K" where k is contiguous in memory, "MN"
    where m or n is; want: "x1", "x2", "x4", or None for the widest that fits. layout: "packed": each warp's tile of one mma
    step is contiguous; "lines": 64 halves per 128-byte line; "swizzled": the same under Swizzle<3,3,3>.
    """

    name: str
    mma: str
    val_layout: tuple
    major: str
    want: str | None
    layout: str

    @cached_property
    def choice(self):
        """The LdmatrixChoice. Raises InstructionError where CuTe would not compile."""
        return choose_ldmatrix(f"{self.mma}.f32.f16.f16.f32", self.name, self.val_layout, self.major, self.want)

    @property
    def contiguous(self):
        """Neighbours in memory: halves of a line of the warp's tile if packed, else of a line of 128 bytes."""
        mn, k = self.choice.tile
        return SIDE if self.layout != "packed" else k if self.major == "K" else mn

    @property
    def tile(self):
        """Where in shared memory a coordinate (m or n, k, operand) lies, in halves; operand: 0 for A, 1 for B."""
        if self.layout == "packed":
            return self._packed()
        strides = (SIDE, 1) if self.major == "K" else (1, SIDE)
        rows = Layout((SIDE, SIDE, 2), (*strides, SIDE * SIDE))
        return Swizzle(3, 3, 3) @ rows if self.layout == "swizzled" else rows

    def _packed(self):
        """Tiles of one step one after another, first along the lines of the matrix."""
        mn, k = self.choice.tile
        shape = ((mn, SIDE // mn), (k, SIDE // k), 2)
        if self.major == "K":
            return Layout(shape, ((k, SIDE * mn), (1, mn * k), SIDE * SIDE))
        return Layout(shape, ((1, mn * k), (mn, SIDE * k), SIDE * SIDE))

    @property
    def copy_excess(self):
        """Wavefronts too many of a 16-byte store: 8 lanes write a line of 128 bytes. Packed, its pieces lie in tiles that
        all begin in the same bank."""
        return 4 * (SIDE // self.contiguous - 1)

    @property
    def load_excess(self):
        """Wavefronts too many of an ldmatrix: of 8 rows of a matrix that lie p bytes apart, every (128 / p)-th begins in the
        same bank, so p / 16 meet there. The swizzle parts all 8."""
        return 0 if self.layout == "swizzled" else self.choice.matrices * (self.contiguous // CHUNK - 1)

    @cached_property
    def copy(self):
        """The Access that stores 16 bytes: line tid // 8 + 16 i of the matrix, from 8 (tid % 8) on."""
        return Access(f"copy {self.name}", "st.shared.b128", self.tile, self._copied,
                      {"tid": LANES * WARPS, "i": SIDE * SIDE // CHUNK // (LANES * WARPS)}, "f16", self.copy_excess)

    def _copied(self, tid, i):
        line, along, number = copy_line(tid, i), copy_along(tid), "AB".index(self.name)
        return (line, along, number) if self.major == "K" else (along, line, number)

    @cached_property
    def load(self):
        """The Access of the ldmatrix: instruction `copy` of k step `ks`; of B also of the j-th 8n columns."""
        steps = {"ks": SIDE // self.choice.tile[1], "copy": self.choice.copies}
        if self.name == "A":
            return Access("load A", self.choice.instruction, self.tile, self._loaded_a, {"tid": LANES * WARPS, **steps},
                          "f16", self.load_excess)
        domain = {"tid": LANES * WARPS, "j": SIDE // self.choice.tile[0], **steps}
        return Access("load B", self.choice.instruction, self.tile, self._loaded_b, domain, "f16", self.load_excess)

    def _loaded_a(self, tid, ks, copy):
        mn, k = self.choice.address(tid % 32, copy)
        return WARP_ROWS * (tid // 32) + mn, self.choice.tile[1] * ks + k, 0

    def _loaded_b(self, tid, j, ks, copy):
        mn, k = self.choice.address(tid % 32, copy)
        return self.choice.tile[0] * j + mn, self.choice.tile[1] * ks + k, 1

    @cached_property
    def index(self):
        """The emitted index functions (of the copy, of the load), in bytes, proved by emitting them.

        They are emitted when they are first used and not kept in `cuda_kernels.emitted`: there are a hundred of them.
        """
        return index_function(self.copy), index_function(self.load)


def copy_line(tid, i):
    """The line of the matrix that a thread copies from: a row where k is contiguous, else a column."""
    return tid // 8 + 4 * WARPS * i


def copy_along(tid):
    """The first of the 8 halves of that line."""
    return CHUNK * (tid % 8)


@lru_cache(None)
def operand(name, mma, val_layout, major, want, layout):
    """The Operand of these choices, always the same object, so that each is proved and emitted once."""
    return Operand(name, mma, val_layout, major, want, layout)
