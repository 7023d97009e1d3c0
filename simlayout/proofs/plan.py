"""A plan: every shared-memory access of a kernel, and from it what Nsight Compute will count."""

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from simlayout.errors import LayoutError, SimlayoutError
from simlayout.hardware import arch_of, mma_clocks, mma_of
from simlayout.proofs.verify import verify


@dataclass(frozen=True)
class Problem:
    """C (M, N) = A (M, K) times B (K, N)."""

    M: int
    N: int
    K: int

    def __post_init__(self):
        for name, value in (("M", self.M), ("N", self.N), ("K", self.K)):
            if not isinstance(value, int | np.integer) or value < 1:
                raise SimlayoutError(f"{name} = {value!r}: a GEMM needs integers M, N and K of at least 1")
            object.__setattr__(self, name, int(value))

    @property
    def flops(self):
        """Floating-point operations: 2 M N K."""
        return 2 * self.M * self.N * self.K


@dataclass(frozen=True)
class AccessCount:
    """What one access of a kernel costs: warp instructions, wavefronts, and the ideal wavefronts."""

    name: str
    instruction: str
    instructions: int
    wavefronts: int
    ideal: int
    exact: bool = True

    @property
    def excess(self):
        """Wavefronts beyond the ideal."""
        return self.wavefronts - self.ideal

    @property
    def excess_per_instruction(self):
        """Excess wavefronts of one warp instruction, on average."""
        return self.excess / self.instructions if self.instructions else 0.0


@dataclass(frozen=True)
class Prediction:
    """What a plan says of one problem.

    counts: one AccessCount per access. shared_clocks and mma_clocks: clocks per K step of one CTA that its
    shared-memory wavefronts and its mma instructions take on an SM; the larger one bounds the kernel.
    """

    counts: tuple
    ctas: int
    steps: int
    shared_clocks: int
    mma_clocks: float

    @property
    def bound(self):
        """Which of the two is the larger: "shared memory" or "mma"."""
        return "shared memory" if self.shared_clocks > self.mma_clocks else "mma"

    def count(self, name):
        """The AccessCount of the access called `name`."""
        for c in self.counts:
            if c.name == name:
                return c
        raise SimlayoutError(f"no access {name!r}; this plan has {', '.join(repr(c.name) for c in self.counts)}")

    def by_instruction(self):
        """Totals per instruction class, as Nsight Compute splits them: {"LDSM": (instructions, wavefronts, ideal)}."""
        totals = {}
        for c in self.counts:
            key = sass_class(c.instruction)
            old = totals.get(key, (0, 0, 0))
            totals[key] = (old[0] + c.instructions, old[1] + c.wavefronts, old[2] + c.ideal)
        return totals

    def as_dict(self):
        """Plain values, for JSON."""
        rows = [{"name": c.name, "instruction": c.instruction, "instructions": c.instructions,
                 "wavefronts": c.wavefronts, "ideal": c.ideal, "excess": c.excess, "exact": c.exact}
                for c in self.counts]
        return {"accesses": rows, "ctas": self.ctas, "steps": self.steps, "bound": self.bound,
                "shared_clocks_per_step": self.shared_clocks, "mma_clocks_per_step": self.mma_clocks}


SASS_CLASSES = (("ldmatrix", "LDSM"), ("stmatrix", "STSM"), ("ld.shared", "LDS"), ("st.shared", "STS"),
                ("cp.async", "LDGSTS"), ("red", "ATOMS"), ("atom", "ATOMS"))
"""PTX name prefix -> the SASS instruction that ptxas makes of it (seen in cuobjdump listings for sm_90)."""


def sass_class(name):
    """The SASS class of a PTX shared-memory instruction: LDSM, STSM, LDS, STS, LDGSTS or ATOMS."""
    return next(sass for prefix, sass in SASS_CLASSES if name.startswith(prefix))


@dataclass(frozen=True)
class Plan:
    """The tile, the warps, the stages and the accesses of a kernel.

    tile: (rows, columns, depth) of the CTA's tile in elements; each_step: accesses executed once per K step (a loop
    variable called "stage" walks over the stages, one per step); each_tile: those executed once per tile of C.
    agreements: (names of stores, name of load) that must meet in the tile. shared_bytes: dynamic shared memory.
    """

    name: str
    tile: tuple
    warps: int
    stages: int
    mma: str
    each_step: tuple
    each_tile: tuple
    agreements: tuple
    shared_bytes: int

    def __post_init__(self):
        names = [a.name for a in self.accesses]
        for name in names:
            if names.count(name) > 1:
                raise LayoutError(f"plan {self.name} has two accesses called {name!r}: give each its own name")
        for access in self.accesses:
            if access.domain["tid"] != 32 * self.warps:
                raise LayoutError(f"plan {self.name}: access {access.name!r} has {access.domain['tid']} threads, "
                                  f"the CTA has {32 * self.warps}")
            if access.domain.get("stage", self.stages) != self.stages:
                raise LayoutError(f"plan {self.name}: access {access.name!r} walks {access.domain['stage']} stages "
                                  f"of {self.stages}")

    @property
    def accesses(self):
        """All accesses, in the order of a kernel's life."""
        return self.each_step + self.each_tile

    def access(self, name):
        """The access called `name`."""
        for a in self.accesses:
            if a.name == name:
                return a
        known = ", ".join(a.name for a in self.accesses)
        raise SimlayoutError(f"plan {self.name} has no access {name!r}; it has {known}")

    @cached_property
    def _analyses(self):
        return {a.name: a.analyze() for a in self.accesses}

    def ctas(self, problem):
        """CTAs that compute a tile of C."""
        return -(-problem.M // self.tile[0]) * -(-problem.N // self.tile[1])

    def steps(self, problem):
        """K steps of each CTA."""
        return -(-problem.K // self.tile[2])

    def mma_instructions(self):
        """mma instructions of one CTA in one K step."""
        one = mma_of(self.mma)
        return prod(self.tile) // (one.m * one.n * one.k)

    def predict(self, M, N, K):
        """Warp instructions, wavefronts and ideal of every access for one problem, and the two bounds per K step."""
        problem = Problem(M, N, K)
        ctas, steps = self.ctas(problem), self.steps(problem)
        turns = np.array([len(range(s, steps, self.stages)) for s in range(self.stages)])
        counts = [self._count(a, turns, ctas) for a in self.each_step]
        counts += [self._count(a, None, ctas) for a in self.each_tile]
        shared = sum(int(self._per_stage(a, "wavefronts")[0]) for a in self.each_step)
        return self.prediction(tuple(counts), ctas, steps, shared, self.multiply_clocks())

    prediction = Prediction
    """What `predict` returns."""

    def plot(self, M=4096, N=4096, K=4096, **options):
        """Draws one sheet: the accesses with their wavefronts and shares of the clocks; see `simlayout.plots.sheet`."""
        from simlayout.plots import plan_sheet, sheet

        return sheet(plan_sheet(self, (M, N, K)), **options)

    def multiply_clocks(self):
        """Clocks of an SM that the multiplications of one CTA in one K step take."""
        return self.mma_instructions() * mma_clocks(self.mma)

    def _per_stage(self, access, what):
        """`what` of the access in one K step, per stage: int64 [stages]."""
        analysis = self._analyses[access.name]
        values = np.ones(len(analysis.wavefronts), np.int64) if what == "instructions" else getattr(analysis, what)
        loops = list(access.domain)[1:]
        table = np.asarray(values).reshape(*(access.domain[v] for v in loops), -1)
        if "stage" not in loops:
            return np.full(self.stages, table.sum())
        axis = loops.index("stage")
        return table.sum(axis=tuple(i for i in range(table.ndim) if i != axis))

    def _count(self, access, turns, ctas):
        def total(what):
            per = self._per_stage(access, what)
            return int((per * turns).sum() if turns is not None else per[0]) * ctas

        return AccessCount(access.name, access.instruction, total("instructions"), total("wavefronts"), total("ideal"),
                           bool(self._analyses[access.name].exact))

    def verify(self, arch="sm_90"):
        """Proves every access, that loads meet what was stored, and that the CTA's shared memory exists.

        Returns the certificates by access name; raises VerificationError or SimlayoutError.
        """
        limit = arch_of(arch).shared_bytes_per_cta
        if self.shared_bytes > limit:
            raise SimlayoutError(f"plan {self.name} needs {self.shared_bytes} bytes of shared memory; {arch} has "
                                 f"{limit} per CTA: use fewer stages or a smaller tile")
        stored = {load: tuple(self.access(s) for s in stores) for stores, load in self.agreements}
        made = {a.name: verify(a, stored_by=stored.get(a.name, ()), arch=arch) for a in self.accesses}
        for a in self.accesses:
            top = int(a.addresses()[:, a.used_lanes()].max()) + a.bytes
            if top > self.shared_bytes:
                raise LayoutError(f"plan {self.name}: access {a.name!r} reaches byte {top} of {self.shared_bytes}")
        return made
