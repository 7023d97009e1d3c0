"""What a kernel is, which arguments it takes, how it is launched, and what its accesses cost.

A Kernel describes all of this itself, so that one runner, one compiler and one command line serve every kernel.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from os.path import basename
from typing import Any

import numpy as np

from simlayout.errors import SimlayoutError, brief
from simlayout.excess import WithExcess
from simlayout.hardware.matrix.tma import TensorMap
from simlayout.hardware.matrix.window import Window
from simlayout.hardware.tables.arch import FEATURES


@dataclass(frozen=True)
class AccessCount(WithExcess[int]):
    """The cost of one access of a kernel, or of one source line.

    name: of the access, or "file:line" if no index function computed the address. instruction: PTX name. instructions: warp
    instructions; wavefronts, ideal: their sums. exact: False if the model only bounds the wavefronts, for example of copies
    with unknown sources. bytes: moved by TMA to or from shared memory, or loaded from another CTA of the cluster, which
    costs no wavefronts here. file, line: where a kernel executed it first, "" and 0 in a prediction; ptx_line: of the PTX
    text, where that was run, else 0. loads: wavefronts of the loads in the loop that an atomic may be, which come on top.

    >>> load = AccessCount("load A", "ldmatrix.x4", instructions=2, wavefronts=32, ideal=8)
    >>> load.excess, load.excess_per_instruction
    (24, 12.0)
    """

    name: str
    instruction: str
    instructions: int
    wavefronts: int
    ideal: int
    exact: bool = True
    bytes: int = 0
    file: str = ""
    line: int = 0
    ptx_line: int = 0
    loads: int = 0

    @property
    def excess_per_instruction(self) -> float:
        """Excess wavefronts of one warp instruction, on average."""
        return self.excess / self.instructions if self.instructions else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {**vars(self), "excess": self.excess}

    def agrees(self, other: "AccessCount") -> bool:
        """Whether another AccessCount has the same numbers.

        >>> predicted = AccessCount("A", "ldmatrix.x4", 2, 8, 8)
        >>> [predicted.agrees(AccessCount("kernel.py:7", "ldmatrix.x4", 2, wavefronts, 8)) for wavefronts in (8, 9)]
        [True, False]
        """
        return all(getattr(self, name) == getattr(other, name) for name in ("instructions", "wavefronts", "ideal", "bytes"))

    def plus(self, other: "AccessCount") -> "AccessCount":
        """The sum of both, with this one's name and place."""
        return replace(self, instructions=self.instructions + other.instructions,
                       wavefronts=self.wavefronts + other.wavefronts, ideal=self.ideal + other.ideal,
                       exact=self.exact and other.exact, bytes=self.bytes + other.bytes, loads=self.loads + other.loads)


def counts_table(counts: Iterable[AccessCount]) -> str:
    """AccessCounts as lines of text below a head; without the columns of which nobody has anything. What is called by its
    line has that once.

    >>> print(counts_table([AccessCount("load A", "ldmatrix.x4", 2, 32, 8)]))
    access  instruction  instructions  wavefronts  ideal  excess
    load A  ldmatrix.x4             2          32      8      24
    """
    head = ("access", "instruction", "line", "instructions", "wavefronts", "ideal", "excess", "TMA bytes")
    rows = [head, *map(_row, counts)]
    kept = [i for i in range(len(head)) if head[i] not in ("line", "TMA bytes") or any(row[i] for row in rows[1:])]
    wide = {i: max(len(row[i]) for row in rows) for i in kept}
    return "\n".join("  ".join(f"{row[i]:{'<' if i < 3 else '>'}{wide[i]}}" for i in kept).rstrip() for row in rows)


def _row(count):
    line = f"{basename(count.file)}:{count.line}" if count.line else ""
    line = "" if line == count.name else line
    return (count.name, count.instruction, line, str(count.instructions), str(count.wavefronts), str(count.ideal),
            str(count.excess) if count.exact else f"{count.excess} (not known exactly)", str(count.bytes or ""))


CPU_SMS = 2
"""SMs of the CPU machine: few, so that each CTA of a persistent kernel has several tiles."""


@dataclass(frozen=True)
class Problem:
    """C (M, N) = A (M, K) times B (K, N), and where the matrices are in memory.

    matrices: how many such products. lda, ldb, ldc: elements from line to line, None for lines without gaps. step_a, step_b,
    step_c: bytes from matrix to matrix, 0 if all products share one matrix. a, b, c: byte addresses, of which only the
    alignment matters. step_scale_a, step_scale_b: bytes from the scale of a row of A (a column of B) to that of the next;
    deep_scale_a, deep_scale_b: from that of 128 of K to that of the next; 0 if all share one. step_groups: of a
    grouped product, whose `matrices` are groups of rows, bytes from the scales of one group's B to those of the next,
    and sizes: the rows of each, None where the device alone knows them. alpha, beta: what the product and the residual are
    multiplied by. sms: streaming multiprocessors for which the grid is chosen. Raises SimlayoutError for sizes below 1.

    >>> Problem(4096, 4096, 4096).flops
    137438953472
    """

    M: int
    N: int
    K: int
    matrices: int = 1
    lda: int | None = None
    ldb: int | None = None
    ldc: int | None = None
    step_a: int = 0
    step_b: int = 0
    step_c: int = 0
    a: int = 0
    b: int = 0
    c: int = 0
    step_scale_a: int = 0
    step_scale_b: int = 0
    deep_scale_a: int = 0
    deep_scale_b: int = 0
    step_groups: int = 0
    sizes: tuple | None = None
    alpha: float = 1.0
    beta: float = 1.0
    sms: int = CPU_SMS

    def __post_init__(self):
        for name in "MNK":
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < 1:
                raise SimlayoutError(f"{name} = {brief(value)}: a GEMM needs integers M, N and K of at least 1")
            if value >= 2**31:
                raise SimlayoutError(f"{name} = {brief(value)}: kernels count rows and columns in 32 bits, below 2**31")
            object.__setattr__(self, name, int(value))

    @property
    def flops(self) -> int:
        """Floating-point operations of one product: 2 M N K."""
        return 2 * self.M * self.N * self.K


@dataclass(frozen=True)
class Pointer:
    """The value of an argument that is the address of an array, named by its role: "a", "b", "c" or a workspace's name."""

    role: str


@dataclass(frozen=True)
class Map:
    """The value of an argument that is the tensor map of an array. box: elements, innermost first; swizzle: bytes; window:
    rows of the window that slides over the array's (`simlayout.hardware.matrix.window`), 0 without one."""

    role: str
    box: tuple
    swizzle: int
    dtype: str
    window: int = 0

    def of(self, array: np.ndarray) -> TensorMap:
        """The simlayout.TensorMap of an array."""
        if self.window:
            return Window.over(array, self.window, self.box, self.swizzle, self.dtype)
        return TensorMap.of(array, self.box, self.swizzle, self.dtype)


@dataclass(frozen=True)
class Argument:
    """One argument of a kernel. type: "u64", "s32", "u32", or "map", 128 bytes by value; meaning: a text for readers; value:
    the function (kernel, problem) -> an int, a Pointer, a Map, or None for a map that is not used."""

    name: str
    type: str
    meaning: str
    value: Callable[[Any, Any], Any]


@dataclass(frozen=True)
class LaunchShape:
    """How a kernel is launched. grid: CTAs as (x, y, z); block: threads per CTA; shared_bytes: dynamic, per CTA; cluster:
    CTAs of a cluster; registers: the most per thread, None for no limit; together: whether its CTAs wait for one another."""

    grid: tuple
    block: int
    shared_bytes: int
    cluster: int = 1
    registers: int | None = None
    together: bool = False


class Kernel(ABC):
    """A kernel: its options, its accesses to shared memory, its Python function, and how it is launched.

    A subclass defines what is abstract here. problem: a Problem of a GEMM, or another problem that the kernel solves.
    """

    name: str
    """Its name on the command line and in records."""
    summary: str
    """One line that describes it."""
    options: Any
    """A frozen dataclass."""
    signature: tuple[Argument, ...]
    """Its Arguments, in order; maps come first."""

    needs = FEATURES["cp.async"]
    """What the GPU must support."""
    resident = 1
    """CTAs that an SM should hold at a time; the compiler gets this number."""
    cluster = 1
    """CTAs of a cluster."""

    @property
    @abstractmethod
    def accesses(self) -> tuple:
        """Its accesses to shared memory through index functions."""

    @property
    @abstractmethod
    def body(self) -> Callable:
        """Its Python function: for `cuda_kernels.build.compile` on a GPU, for `simlayout.machine.run` on a CPU."""

    @property
    @abstractmethod
    def block(self) -> int:
        """Threads per CTA."""

    @property
    @abstractmethod
    def shared_bytes(self) -> int:
        """Dynamic shared memory per CTA, in bytes."""

    @abstractmethod
    def work(self, *inputs: Any, sms: int = CPU_SMS, packed: bool = False) -> "Work":
        """The Work for NumPy arrays. packed: copies them without gaps between their lines, as a transfer to a GPU does.
        Raises SimlayoutError for inputs that the kernel does not accept."""

    @abstractmethod
    def launch_shape(self, problem: Any) -> LaunchShape:
        """How it is launched for a problem."""

    @abstractmethod
    def prove(self) -> dict:
        """The certificates by access name. Raises VerificationError if an access is not what the plan declares."""

    def variant(self, **changes: Any) -> "Kernel":
        """The same kernel with other options, for example variant(stages=4). Raises SimlayoutError for an unknown option."""
        known = [f.name for f in fields(self.options)]
        for key in changes:
            if key not in known:
                raise SimlayoutError(f"kernel {self.name} has no option {key!r}; it has {', '.join(known)}")
        return self if not changes else self.with_options(replace(self.options, **changes))

    def with_options(self, options: Any) -> "Kernel":
        """The same kernel with these options."""
        return replace(self, options=options)        # type: ignore[type-var]   # every Kernel is a dataclass

    def fitted(self, problem: Any) -> "Kernel":
        """The variant for a problem, with the copies and stores that its sizes and its alignment allow."""
        return self

    def arguments(self, problem: Any) -> tuple:
        """The values of its arguments for a problem."""
        return tuple(argument.value(self, problem) for argument in self.signature)

    def workspace(self, problem: Any) -> dict:
        """The sizes in bytes of further arrays, filled with zeros, by the role that a Pointer names."""
        return {}

    @property
    def compiled_as(self) -> "Kernel":
        """The kernel whose machine code this one shares: without options that are only passed at the launch."""
        return self


@dataclass(frozen=True)
class Work:
    """A kernel with its problem and arrays, ready for a launch. kernel: fitted to the problem; arrays: by role; results: a
    function that returns the outputs after the launch."""

    kernel: Kernel
    problem: Any
    arrays: dict
    results: Callable[[], tuple]

    def spare(self) -> dict:
        """New workspaces for a launch, by role: bytes that are zero."""
        return {role: np.zeros(max(nbytes, 16), np.uint8) for role, nbytes in self.kernel.workspace(self.problem).items()}
