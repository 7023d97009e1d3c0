"""A plan: every shared-memory access of a kernel, and the counts that Nsight Compute will show for them."""

from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from simlayout.arguments import typed
from simlayout.drawn import drawn_by
from simlayout.errors import LayoutError, SimlayoutError
from simlayout.hardware import arch_of, mma_clocks, mma_of
from simlayout.hardware.tables.arch import DEFAULT_ARCH, LANES
from simlayout.kernel import AccessCount, Problem, counts_table
from simlayout.proofs.access import Access
from simlayout.proofs.certificate import Certificate
from simlayout.proofs.source import Operand, cost
from simlayout.proofs.verify import verify
from simlayout.shown import Shown
from simlayout.wording import counted


@dataclass(frozen=True)
class Prediction(Shown):
    """A plan's prediction for one problem.

    counts: one AccessCount per access. shared_clocks and mma_clocks: the least clocks that the accesses to shared memory and
    the multiplications of one CTA take on an SM in a K step; the larger one bounds the kernel. multiplied_by: what takes the
    mma_clocks, "mma", "wgmma" or "fma". A wavefront of a load or a store takes one clock of one pipe. A wavefront of a copy
    does not, because in whole kernels more wavefronts passed than there were clocks (tests/data/h200_stalls.json), so
    copies count here only with the cost of their destinations.

    >>> counts = AccessCount("load A", "ldmatrix.x4", 64, 512, 256), AccessCount("load B", "ldmatrix.x2", 64, 128, 128)
    >>> predicted = Prediction(counts, ctas=32, steps=2, shared_clocks=10, mma_clocks=4.0)
    >>> predicted.count("load A").excess, predicted.by_instruction()
    (256, {'LDSM': (128, 640, 384)})
    >>> predicted.bound, predicted.clocks
    ('shared memory', '10 clocks of shared memory, 4 of mma')
    """

    counts: tuple[AccessCount, ...]
    ctas: int
    steps: int
    shared_clocks: int
    mma_clocks: float
    multiplied_by: str = "mma"

    @property
    def bound(self) -> str:
        """Which of the two is the larger: "shared memory" or `multiplied_by`."""
        return "shared memory" if self.shared_clocks > self.mma_clocks else self.multiplied_by

    @property
    def clocks(self) -> str:
        """The two clocks of a K step, as text."""
        copies = any(is_copy(c.instruction) for c in self.counts)
        return (f"{self.shared_clocks} clocks of shared memory{' (copies by what they write)' * copies}, "
                f"{self.mma_clocks:.0f} of {self.multiplied_by}")

    @typed()
    def count(self, name: str) -> AccessCount:
        """The AccessCount of the access with this name."""
        for c in self.counts:
            if c.name == name:
                return c
        raise SimlayoutError(f"no access {name!r}; this plan has {', '.join(repr(c.name) for c in self.counts)}")

    def by_instruction(self) -> dict[str, tuple[int, int, int]]:
        """Totals per instruction class, as Nsight Compute splits them: {"LDSM": (instructions, wavefronts, ideal)}."""
        totals = {}
        for c in self.counts:
            key = sass_class(c.instruction)
            old = totals.get(key, (0, 0, 0))
            totals[key] = (old[0] + c.instructions, old[1] + c.wavefronts, old[2] + c.ideal)
        return totals

    def __str__(self):
        return (f"{counts_table(self.counts)}\n{counted(self.ctas, 'CTA')} of {counted(self.steps, 'K step')}, each of "
                f"{self.clocks}: bound by {self.bound}")

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        rows = [{"name": c.name, "instruction": c.instruction, "instructions": c.instructions,
                 "wavefronts": c.wavefronts, "ideal": c.ideal, "excess": c.excess, "exact": c.exact}
                for c in self.counts]
        return {"accesses": rows, "ctas": self.ctas, "steps": self.steps, "bound": self.bound,
                "shared_clocks_per_step": self.shared_clocks, "mma_clocks_per_step": self.mma_clocks}


SASS_CLASSES = (("ldmatrix", "LDSM"), ("stmatrix", "STSM"), ("ld.shared", "LDS"), ("st.shared", "STS"),
                ("st.async", "STAS"), ("cp.async", "LDGSTS"), ("red", "ATOMS"), ("atom", "ATOMS"))
"""PTX name prefix -> the SASS instruction that ptxas makes of it (seen in cuobjdump listings for sm_90)."""


def sass_class(name):
    """The SASS class of a PTX shared-memory instruction: LDSM, STSM, LDS, STS, STAS, LDGSTS or ATOMS."""
    return next(sass for prefix, sass in SASS_CLASSES if name.startswith(prefix))


def is_copy(name):
    """Whether a PTX instruction is a copy by threads from global into shared memory, whose source counts too.

    >>> is_copy("cp.async.cg.16"), is_copy("cp.async.bulk.tensor")
    (True, False)
    """
    return name.startswith(("cp.async.ca", "cp.async.cg"))


@typed(LayoutError)
@dataclass(frozen=True)
class Plan(Shown):
    """The tile, the warps, the stages and the accesses of a kernel.

    tile: (rows, columns, depth) of the CTA's tile in elements; each_step: accesses executed once per K step (a loop
    variable called "stage" runs over the stages, one per step); each_tile: accesses executed once per tile of C.
    agreements: (names of stores, name of load): the load must read what these stores wrote. shared_bytes: dynamic shared
    memory. Raises LayoutError where the accesses do not fit together.

    >>> import simlayout as sl
    >>> tile = sl.Swizzle(1, 3, 3) @ sl.Layout((16, 16), (16, 1))
    >>> load = sl.Access("load A", "ldmatrix.x4", tile, lambda tid: (tid % 16, tid % 32 // 16 * 8), {"tid": 32}, dtype="f16")
    >>> plan = Plan("small", (16, 8, 16), 1, 1, "m16n8k16.f32.f16.f16.f32", (load,), (), (), tile.size * 2)
    >>> plan.predict(64, 64, 32).count("load A").instructions              # 4 x 8 CTAs, 2 K steps
    64
    >>> list(plan.verify())
    ['load A']
    """

    name: str
    tile: tuple[int, int, int]
    warps: int
    stages: int
    mma: str
    each_step: tuple[Access, ...]
    each_tile: tuple[Access, ...]
    agreements: tuple
    shared_bytes: int

    def __post_init__(self):
        for what, least in (("tile", 1), ("warps", 1), ("stages", 1), ("shared_bytes", 0)):
            given = getattr(self, what)
            if min(given if what == "tile" else (given,)) < least:
                raise LayoutError(f"plan {self.name}: {what} = {given}: give at least {least}")
        names = [a.name for a in self.accesses]
        for name in names:
            if names.count(name) > 1:
                raise LayoutError(f"plan {self.name} has two accesses called {name!r}: give each its own name")
        for access in self.accesses:
            if access.domain["tid"] != LANES * self.warps:
                raise LayoutError(f"plan {self.name}: access {access.name!r} has {access.domain['tid']} threads, "
                                  f"the CTA has {LANES * self.warps}")
            if access.domain.get("stage", self.stages) != self.stages:
                raise LayoutError(f"plan {self.name}: access {access.name!r} walks {access.domain['stage']} stages "
                                  f"of {self.stages}")
        for access in self.each_tile:
            if access.source is not None:
                raise LayoutError(f"plan {self.name}: access {access.name!r} is executed once per tile of C, and a Source "
                                  "says what a copy of each K step reads: leave out source")

    @property
    def accesses(self) -> tuple[Access, ...]:
        """All accesses, in the order of a kernel's life."""
        return self.each_step + self.each_tile

    def __str__(self):
        rows, columns, depth = self.tile
        return "\n".join([f"{self.name}: tile {rows}x{columns}x{depth} by {self.mma}, {counted(self.warps, 'warp')}, "
                          f"{counted(self.stages, 'stage')}, {self.shared_bytes} bytes of shared memory per CTA",
                          "each K step", *(f"  {access}" for access in self.each_step),
                          "each tile of C", *(f"  {access}" for access in self.each_tile)])

    @typed()
    def access(self, name: str) -> Access:
        """The access with this name."""
        for a in self.accesses:
            if a.name == name:
                return a
        known = ", ".join(a.name for a in self.accesses)
        raise SimlayoutError(f"plan {self.name} has no access {name!r}; it has {known}")

    @cached_property
    def _analyses(self):
        return {a.name: a.analyze() for a in self.accesses}

    def ctas(self, problem: Problem) -> int:
        """CTAs that compute a tile of C."""
        return -(-problem.M // self.tile[0]) * -(-problem.N // self.tile[1])

    def steps(self, problem: Problem) -> int:
        """K steps of each CTA."""
        return -(-problem.K // self.tile[2])

    def mma_instructions(self) -> int:
        """mma instructions of one CTA in one K step."""
        one = mma_of(self.mma)
        return prod(self.tile) // (one.m * one.n * one.k)

    def predict(self, M: int, N: int, K: int, *, lda: int | None = None, ldb: int | None = None, a: int = 0,
                b: int = 0) -> Prediction:
        """Warp instructions, wavefronts and ideal of every access for one problem, and the two bounds per K step.

        lda, ldb: elements from row to row of A and B, K by default; a, b: their byte addresses. They matter to copies with a
        Source, whose cost depends on where the rows begin. If the copy's instruction cannot read where a row begins, the
        count is `exact=False`, as it is for a copy without a Source (the kernel's `fitted` uses another instruction there).
        """
        problem = Problem(M, N, K)
        ctas, steps = self.ctas(problem), self.steps(problem)
        turns = [-(-max(steps - stage, 0) // self.stages) for stage in range(self.stages)]
        counts = [self._count(access, turns, ctas) for access in self.each_step]
        places = {"A": (lda, a), "B": (ldb, b)}
        counts = [self._with_sources(access, count, problem, *places[access.source.operand]) if access.source else count
                  for access, count in zip(self.each_step, counts)]
        counts += [self._count(access, None, ctas) for access in self.each_tile]
        shared = sum(int(self._per_stage(access, "wavefronts")[0]) for access in self.each_step)
        return Prediction(tuple(counts), ctas, steps, shared, self.multiply_clocks(), self.multiplied_by)

    def _with_sources(self, access, count, problem, leading, address):
        """The AccessCount of a copy, with the cost of its sources; unchanged if the instruction cannot read these."""
        source, sizes = access.source, (problem.M, problem.N, problem.K)
        rows, down = (problem.M, self.tile[0]) if source.operand == "A" else (problem.N, self.tile[1])
        leading = problem.K if leading is None else leading
        sized = any(size % part for size, part in zip(sizes, self.tile)) if source.sized is None else source.sized
        once = cost(access, Operand(source.operand, rows, problem.K, leading, address, (down, self.tile[2])), self.stages,
                    sized)
        if once is None:
            return count
        times = self.ctas(problem) // -(-rows // down)
        return replace(count, wavefronts=times * once.wavefronts, ideal=times * once.ideal, exact=once.exact)

    multiplied_by = "mma"
    """As of the Predictions of this plan."""

    plot = drawn_by("plan", "Draws one sheet: the accesses with their wavefronts and shares of the clocks.")

    def multiply_clocks(self) -> float:
        """Clocks of an SM for the multiplications of one CTA in one K step."""
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
            per = self._per_stage(access, what).tolist()
            return ctas * (per[0] if turns is None else sum(each * times for each, times in zip(per, turns)))

        return AccessCount(access.name, access.instruction, total("instructions"), total("wavefronts"), total("ideal"),
                           bool(self._analyses[access.name].exact))

    def verify(self, arch: str = DEFAULT_ARCH) -> dict[str, Certificate]:
        """Proves every access, that loads meet what was stored, and that the CTA's shared memory exists.

        Returns the certificates by access name; raises VerificationError or SimlayoutError.
        """
        limit = arch_of(arch).shared_bytes_per_cta
        if self.shared_bytes > limit:
            raise SimlayoutError(f"plan {self.name} needs {self.shared_bytes} bytes of shared memory; {arch} has "
                                 f"{limit} per CTA: use fewer stages or a smaller tile")
        stored = {load: tuple(self.access(s) for s in stores) for stores, load in self.agreements}
        certificates = {a.name: verify(a, stored_by=stored.get(a.name, ()), arch=arch) for a in self.accesses}
        for a in self.accesses:
            top = int(a.addresses()[:, a.used_lanes()].max()) + a.bytes
            if top > self.shared_bytes:
                raise LayoutError(f"plan {self.name}: access {a.name!r} reaches byte {top} of {self.shared_bytes}")
        return certificates
