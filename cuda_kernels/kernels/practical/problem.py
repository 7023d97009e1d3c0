"""What a problem of the practical-swizzle tutorial is here: a kernel, what it does to shared memory, and what that costs."""

from abc import abstractmethod
from collections.abc import Collection
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from cuda_kernels.kernels.practical.common import indices
from cuda_kernels.kernels.practical.tiles import accesses, shared_bytes
from simlayout.errors import SimlayoutError, VerificationError
from simlayout.hardware.tables.arch import FEATURES
from simlayout.kernel import CPU_SMS, AccessCount, Argument, Kernel, LaunchShape, Pointer, Work
from simlayout.proofs import verify

STORES = ("stmatrix", "pairs")
"""How a 16x16 result goes to shared memory: one stmatrix.x4 (sm_90), or four st.shared.b32, as wmma's store does."""


@dataclass(frozen=True)
class Use:
    """An access as a kernel uses it: each warp executes its whole domain but for the slots, `times` times.

    role, layout: of `tiles.accesses`. times: an int, or a function of the problem's number n. stored_by: the (role, layout)
    of the stores that it must meet.
    """

    role: str
    layout: str
    times: object = 1
    stored_by: tuple = ()


@dataclass(frozen=True)
class Options:
    """How its shared memory lies ("xor"), one of the problem's layouts; store: one of STORES."""

    layout: str
    store: str = "stmatrix"


def _at(role):
    """The value of an argument that is the address of the array with a role."""
    return lambda kernel, n: Pointer(role)


@dataclass(frozen=True)
class Practical(Kernel):
    """A problem in one layout. A subclass is a problem: its `uses`, `body` and `reference`, and what follows.

    problem: the tutorial's number ("2.1"); layouts: there are. shape: of its tiles, a key of `tiles.TILES`. inputs, results:
    their shapes, elements. takes_power: whether it takes a number n. slots: matrices in shared memory.
    """

    options: Options

    problem: ClassVar[str]
    layouts: ClassVar[Collection[str]]
    shape: ClassVar[str]
    inputs: ClassVar[tuple]
    results: ClassVar[tuple]
    takes_power: ClassVar[bool] = False
    summary = "a problem of the practical-swizzle tutorial"
    needs = FEATURES["stmatrix"]

    def __post_init__(self):
        if self.layout not in self.layouts:
            raise SimlayoutError(f"problem {self.problem} has no layout {self.layout!r}: choose one of "
                                 f"{', '.join(self.layouts)}")
        if self.store not in STORES:
            raise SimlayoutError(f"store {self.store!r}: choose one of {', '.join(STORES)}")

    @property
    @abstractmethod
    def slots(self):
        """Matrices in shared memory."""

    @property
    @abstractmethod
    def uses(self):
        """What it does to shared memory: its Uses, in the order of its life."""

    @staticmethod
    @abstractmethod
    def reference(*inputs):
        """The results of the inputs, the number n of a problem that takes one among them, as NumPy has them."""

    @property
    def layout(self):
        """How its shared memory lies."""
        return self.options.layout

    @property
    def store(self):
        """How results go to shared memory."""
        return self.options.store

    def stored(self, role):
        """The role of the stores that `store` chooses of a role."""
        return role if self.store == "stmatrix" else f"{role} pairs"

    @property
    def name(self):
        """For people and errors: "2.1 xor stmatrix"."""
        return f"{self.problem} {self.layout} {self.store}"

    @property
    def signature(self):
        """Addresses of the inputs and the results, then the number n of a problem that takes one."""
        roles = [f"input {i}" for i in range(len(self.inputs))] + [f"result {i}" for i in range(len(self.results))]
        numbers = (Argument("n", "s32", "the power", lambda kernel, n: n),) if self.takes_power else ()
        return tuple(Argument(role, "u64", f"address of {role}", _at(role)) for role in roles) + numbers

    @property
    def accesses(self):
        """The accesses, in the order of `uses`."""
        return tuple(accesses(self.shape, use.layout)[use.role] for use in self.uses)

    @property
    def block(self):
        """Threads per CTA."""
        return self.accesses[0].domain["tid"]

    @property
    def shared_bytes(self):
        """Dynamic shared memory per CTA, in bytes."""
        return shared_bytes(self.shape, self.slots)

    def predict(self, n=1):
        """What the kernel does to shared memory with the number n: one AccessCount per access that it executes."""
        counts = []
        for use, access in zip(self.uses, self.accesses):
            times = use.times(n) if callable(use.times) else use.times
            loops = prod(size for variable, size in access.domain.items() if variable not in ("tid", "slot"))
            instructions = self.block // 32 * loops * times
            ideal = instructions * int(access.analyze().ideal[0])
            if instructions:
                counts.append(AccessCount(access.name, access.instruction, instructions,
                                          ideal + instructions * access.excess, ideal))
        return tuple(counts)

    def prove(self):
        """Proves every access, with the very excess it declares, and emits its index function, which is compared with it.

        Returns the certificates by access name; raises VerificationError.
        """
        certificates = {}
        for use, access in zip(self.uses, self.accesses):
            stores = tuple(accesses(self.shape, layout)[role] for role, layout in use.stored_by)
            certificates[access.name] = verify(access, stored_by=stores)
            indices(self.shape, use.layout, use.role)
            top = int(access.restricted(slot=min(self.slots, access.domain["slot"])).addresses().max()) + access.bytes
            if top > self.shared_bytes:
                raise VerificationError(f"access {access.name!r} reaches byte {top} of {self.shared_bytes}")
        return certificates

    def launch_shape(self, problem):
        """One CTA."""
        return LaunchShape((1, 1, 1), self.block, self.shared_bytes)

    def work(self, *inputs, sms=CPU_SMS, packed=False):
        """The Work of f16 matrices of the problem's shapes, and, for problem 1.1, the power, 2 where it is not given."""
        count = len(self.inputs)
        matrices, numbers = inputs[:count], inputs[count:]
        if len(matrices) != count or len(numbers) > self.takes_power:
            takes = f"{count} {'matrix' if count == 1 else 'matrices'}" + " and a power" * self.takes_power
            raise SimlayoutError(f"problem {self.problem} takes {takes}, not {len(inputs)} inputs")
        for matrix, shape in zip(matrices, self.inputs):
            if getattr(matrix, "shape", None) != shape or matrix.dtype != np.float16:
                what = f"{matrix.dtype} {matrix.shape}" if isinstance(matrix, np.ndarray) else type(matrix).__name__
                raise SimlayoutError(f"problem {self.problem} takes float16 matrices {shape}, not {what}")
        n = numbers[0] if numbers else 2 if self.takes_power else 1
        if not isinstance(n, int | np.integer) or n < 1:
            raise SimlayoutError(f"n = {n!r}: the power is an integer of at least 1")
        results = [np.full(shape, np.nan, np.float16) for shape in self.results]
        arrays = {f"input {i}": np.ascontiguousarray(x) for i, x in enumerate(matrices)}
        return Work(self, int(n), arrays | {f"result {i}": x for i, x in enumerate(results)}, lambda: tuple(results))


def small_integers(shapes, seed=0):
    """f16 matrices of -1, 0 and 1: products of a few of them are exact in f16."""
    generator = np.random.default_rng(seed)
    return [generator.integers(-1, 2, shape).astype(np.float16) for shape in shapes]
