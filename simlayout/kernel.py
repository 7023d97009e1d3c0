"""The words of kernels: what a kernel is, what it takes, how it is launched, and what its accesses cost.

A Kernel says all of this by itself, so that one runner, one compiler and one command line serve every kernel.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from simlayout.errors import SimlayoutError
from simlayout.hardware.tables.arch import FEATURES


@dataclass(frozen=True)
class AccessCount:
    """What one access of a kernel, or one source line, costs.

    name: the access's, or "file:line" where no index function made the address. instruction: PTX name. instructions: warp
    instructions; wavefronts, ideal: their sums. exact: False where the model only bounds the wavefronts, as of copies whose
    sources are not known. bytes: what TMA moves to or from shared memory, or a load brings from another CTA of the cluster;
    they cost no wavefronts here. file, line: where a kernel executed it first, "" and 0 of a prediction.
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

    @property
    def excess(self) -> int:
        """Wavefronts beyond the ideal."""
        return self.wavefronts - self.ideal

    @property
    def excess_per_instruction(self) -> float:
        """Excess wavefronts of one warp instruction, on average."""
        return self.excess / self.instructions if self.instructions else 0.0

    def agrees(self, other: "AccessCount") -> bool:
        """Whether another AccessCount says the same numbers.

        >>> said = AccessCount("A", "ldmatrix.x4", 2, 8, 8)
        >>> [said.agrees(AccessCount("kernel.py:7", "ldmatrix.x4", 2, wavefronts, 8)) for wavefronts in (8, 9)]
        [True, False]
        """
        return all(getattr(self, name) == getattr(other, name) for name in ("instructions", "wavefronts", "ideal", "bytes"))

    def plus(self, other: "AccessCount") -> "AccessCount":
        """The sum of both, with this one's name and place."""
        return replace(self, instructions=self.instructions + other.instructions,
                       wavefronts=self.wavefronts + other.wavefronts, ideal=self.ideal + other.ideal,
                       exact=self.exact and other.exact, bytes=self.bytes + other.bytes)


CPU_SMS = 2
"""SMs that a grid is for on the CPU machine: few, so that the CTAs of a persistent kernel have several tiles."""


@dataclass(frozen=True)
class Problem:
    """C (M, N) = A (M, K) times B (K, N), and how the matrices lie in memory.

    matrices: how many such products. lda, ldb, ldc: elements from line to line, None for lines that follow one another.
    step_a, step_b, step_c: bytes from matrix to matrix, 0 where all products share one. a, b, c: byte addresses, of which
    the alignment matters. sms: streaming multiprocessors that the grid is for. Raises SimlayoutError for sizes below 1.

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
    sms: int = CPU_SMS

    def __post_init__(self):
        for name in "MNK":
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or value < 1:
                raise SimlayoutError(f"{name} = {value!r}: a GEMM needs integers M, N and K of at least 1")
            object.__setattr__(self, name, int(value))

    @property
    def flops(self) -> int:
        """Floating-point operations of one product: 2 M N K."""
        return 2 * self.M * self.N * self.K


@dataclass(frozen=True)
class Pointer:
    """The value of an argument that is the address of an array, called by its role: "a", "b", "c" or a workspace's name."""

    role: str


@dataclass(frozen=True)
class Map:
    """The value of an argument that is the tensor map of an array. box: elements, innermost first; swizzle: bytes."""

    role: str
    box: tuple
    swizzle: int
    dtype: str


@dataclass(frozen=True)
class Argument:
    """One argument of a kernel. type: "u64", "s32", "u32", or "map", 128 bytes by value; meaning: for people; value:
    the function (kernel, problem) -> an int, a Pointer, a Map, or None for a map that is not used."""

    name: str
    type: str
    meaning: str
    value: Callable[[Any, Any], Any]


@dataclass(frozen=True)
class LaunchShape:
    """How a kernel is launched. grid: CTAs as (x, y, z); block: threads per CTA; shared_bytes: dynamic, per CTA; cluster:
    CTAs of a cluster; registers: per thread at most, where the launch says so; together: its CTAs wait for one another."""

    grid: tuple
    block: int
    shared_bytes: int
    cluster: int = 1
    registers: int | None = None
    together: bool = False


class Kernel(ABC):
    """A kernel: options, what it does to shared memory, its Python function, and how it is launched.

    A subclass says what is abstract here. problem: a Problem of a GEMM, or what else the kernel solves.
    """

    name: str
    """What people call it."""
    summary: str
    """What it is, in a line."""
    options: Any
    """A frozen dataclass."""
    signature: tuple[Argument, ...]
    """Its Arguments, in order; maps come first."""

    needs = FEATURES["cp.async"]
    """What it needs of a GPU."""
    resident = 1
    """CTAs that an SM is to hold, as the compiler is told."""
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
        """What it has to do for NumPy arrays. packed: whether these are copied, as to a GPU, with line after
        line. Raises SimlayoutError for inputs that it does not take."""

    @abstractmethod
    def launch_shape(self, problem: Any) -> LaunchShape:
        """How it is launched for a problem."""

    @abstractmethod
    def prove(self) -> dict:
        """The certificates by access name; raises VerificationError where an access is not as the plan says."""

    def variant(self, **changes: Any) -> "Kernel":
        """The same kernel with other options, for example variant(stages=4). Raises SimlayoutError for one it has not."""
        known = [f.name for f in fields(self.options)]
        for key in changes:
            if key not in known:
                raise SimlayoutError(f"kernel {self.name} has no option {key!r}; it has {', '.join(known)}")
        return self if not changes else self.with_options(replace(self.options, **changes))

    def with_options(self, options: Any) -> "Kernel":
        """The same kernel with these options."""
        return replace(self, options=options)        # type: ignore[type-var]   # every Kernel is a dataclass

    def fitted(self, problem: Any) -> "Kernel":
        """The variant for a problem: with the copies and stores that its sizes and its alignment allow."""
        return self

    def arguments(self, problem: Any) -> tuple:
        """The values of its arguments for a problem."""
        return tuple(argument.value(self, problem) for argument in self.signature)

    def workspace(self, problem: Any) -> dict:
        """Bytes of further arrays, which start as zeros, by the role that a Pointer names."""
        return {}

    @property
    def compiled_as(self) -> "Kernel":
        """The kernel whose machine code this one shares: without options that are only passed at the launch."""
        return self


@dataclass(frozen=True)
class Work:
    """What a kernel has to do, ready for a launch. kernel: fitted to the problem; arrays: by role; results: a function that
    gives what was asked for, once the arrays are full."""

    kernel: Kernel
    problem: Any
    arrays: dict
    results: Callable[[], tuple]

    @property
    def spare(self) -> dict:
        """Bytes of the workspaces that the kernel needs besides, by role."""
        return self.kernel.workspace(self.problem)
