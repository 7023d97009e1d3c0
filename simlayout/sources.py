"""One table of who says what: every rule that the package has of a chip, and who says that it is so.

A rule of shared memory is an instruction's (`simlayout.hardware.tables.instructions`). The others are collected here: where
matrix instructions find their operands and keep their results, and how they compute.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from simlayout.hardware.matrix import (
    instruction_descriptor,
    operand_k96,
    scale_factors,
    sparse,
    sparse_tmem,
    tmem,
    wgmma,
    wgmma_fragments,
)
from simlayout.hardware.matrix.fragments import FRAGMENTS
from simlayout.hardware.matrix.mfma import chips_of
from simlayout.hardware.matrix.scaled_mma import SCALED_MMAS, SINCE
from simlayout.hardware.tables.arch import DEFAULT_ARCH, FEATURES, Arch, arch_of, arches_since
from simlayout.hardware.tables.mma import QUAD_PAIR_MMAS
from simlayout.hardware.tables.operand_readers import READERS
from simlayout.hardware.tables.provenance import Provenance
from simlayout.hardware.tables.rates import MMA_RATES
from simlayout.hardware.tables.tcgen05 import HAVE_K96, HAVE_TCGEN05, KINDS, KINDS_SOURCE, shapes_of
from simlayout.hardware.tables.tensor_ops import TENSOR_OPS
from simlayout.numerics.narrow import NARROW_RULES
from simlayout.numerics.rules import Rule, rule

PARTS = "fragments", "operands in shared memory", "tensor memory", "arithmetic", "time"
"""Into which a chip's statements are divided, in this order."""


@dataclass(frozen=True)
class Statement:
    """A rule, or some that one source gives alike. part: of PARTS; what: which rules, in words; names: the instructions that
    they are of; said: who says so, of this chip."""

    part: str
    what: str
    names: tuple[str, ...]
    said: Provenance


@dataclass(frozen=True)
class _Row:
    """Statements before they are collected. elsewhere: the kind of the source on chips where nobody measured what was
    measured on DEFAULT_ARCH: "documented" where the source is PTX's own too, else "assumed"."""

    part: str
    what: str
    name: str
    said: Provenance
    arches: tuple[str, ...]
    elsewhere: str = "documented"

    def on(self, chip: Arch) -> Provenance:
        """Who says so of a chip that has it."""
        if chip.name == DEFAULT_ARCH or self.said.kind != "measured":
            return self.said
        text = self.said.text if self.elsewhere == "documented" else f"as on {DEFAULT_ARCH} ({self.said})"
        return Provenance(self.elsewhere, text)


def statements(arch: str | Arch) -> tuple[Statement, ...]:
    """Every Statement about an architecture, by PARTS; InstructionError for one that there is not.

    >>> for s in statements("gfx1201"):
    ...     print(s.part, "|", s.what, "|", len(s.names), s.said.kind)
    fragments | WMMA | 2 disputed
    fragments | WMMA | 4 documented
    >>> [s.said.kind for s in statements("sm_103") if s.what == "accumulators of tcgen05.mma"]
    ['documented']
    """
    chip, found = arch_of(arch), {}
    for row in _rows(chip):
        if chip.name in row.arches:
            found.setdefault((row.part, row.what, row.on(chip)), {})[row.name] = None
    made = (Statement(part, what, tuple(names), said) for (part, what, said), names in found.items())
    return tuple(sorted(made, key=lambda s: PARTS.index(s.part)))


def _rows(chip: Arch) -> Iterator[_Row]:
    for collect in (_fragments, _operands, _tensor_memory):
        yield from collect()
    yield from _arithmetic(chip)
    yield from _times()


# ---- fragments ----------------------------------------------------------------------------------------------------------

_SINCE: tuple[tuple[Callable, str, tuple, str], ...] = (
    # which fragments, what they are called, since which compute capability, what they are elsewhere
    (lambda f: f.name.startswith("stmatrix"), "stmatrix", FEATURES["stmatrix"].since, "documented"),
    (lambda f: f.name.startswith(("ldmatrix", "movmatrix")), "ldmatrix, movmatrix", (7, 5), "documented"),
    (lambda f: f.name.startswith("mma.sp") and ".e" in f.name, "mma.sp", (8, 9), "documented"),
    (lambda f: f.name.startswith("mma.sp"), "mma.sp", (8, 0), "documented"),
    (lambda f: f.name.startswith("wmma") and f.dtype in ("bf16", "tf32", "f64"), "wmma", (8, 0), "assumed"),
    (lambda f: f.name.startswith("wmma"), "wmma", (7, 5), "assumed"),
    (lambda f: f.name in SCALED_MMAS and f.operand in ("SA", "SB"), "scale factors of mma.sync", SINCE, "documented"),
    (lambda f: f.name in SCALED_MMAS, "mma.sync with a .kind", SINCE, "documented"),
    (lambda f: f.name in QUAD_PAIR_MMAS, "mma.sync m8n8k4 of f16", (7, 5), "documented"),
)
"""PTX ISA, the target ISA notes of each; ptxas refuses them for older targets."""


def _fragments():
    for fragment in FRAGMENTS.values():
        yield _of_fragment(fragment)
    for name, op in TENSOR_OPS.items():
        if op.family in ("wgmma", "wgmma.sp"):
            yield _Row("fragments", f"{op.family}: D, and A from registers", name, wgmma_fragments.SOURCE, op.arches)
    for shape in tmem.TMEM_SHAPES:
        for way in ("ld", "st"):
            yield _Row("fragments", "tcgen05.ld and st", f"tcgen05.{way}.{shape}", tmem.SOURCE, HAVE_TCGEN05)
    for name, op in TENSOR_OPS.items():
        if op.sparse:
            source = sparse.METADATA_SOURCE if op.family == "mma.sp" else sparse.WGMMA_METADATA_SOURCE
            yield _Row("fragments", f"metadata of {op.family}", name, source, op.arches, "assumed")


def _of_fragment(fragment):
    if fragment.name.startswith("v_"):
        what = "WMMA" if "wmma" in fragment.name else "MFMA"
        return _Row("fragments", what, fragment.name, fragment.source, chips_of(fragment))
    for belongs, what, since, elsewhere in _SINCE:
        if belongs(fragment):
            return _Row("fragments", what, fragment.name, fragment.source, arches_since(since), elsewhere)
    return _Row("fragments", "mma.sync", fragment.name, fragment.source, TENSOR_OPS[fragment.name].arches)


# ---- operands, tensor memory ---------------------------------------------------------------------------------------------

def _operands():
    part = "operands in shared memory"
    for reader in READERS.values():
        yield _Row(part, f"descriptors of {reader.name}", reader.name, reader.source, reader.arches)
    yield _Row(part, "instruction descriptors of tcgen05.mma", "tcgen05.mma", instruction_descriptor.SOURCE, HAVE_TCGEN05)
    for kind in KINDS.values():
        yield _Row(part, "kinds of tcgen05.mma, their types and shapes", kind.name, KINDS_SOURCE, kind.arches)
        if kind.vectors_96:
            yield _Row(part, "tcgen05.mma with 96 of K", kind.name, operand_k96.SOURCE, HAVE_K96)
    for name, op in TENSOR_OPS.items():
        if op.family in ("wgmma", "wgmma.sp"):
            source = wgmma.operand_wavefronts(name)[1]
            yield _Row(part, f"wavefronts in which {op.family} reads them", name, source, op.arches)


def _tensor_memory():
    part = "tensor memory"
    for path in tmem.DATA_PATHS:
        yield _Row(part, "accumulators of tcgen05.mma", f"organization {path.letter}", tmem.ACCUMULATOR_SOURCE, HAVE_TCGEN05)
    for shape in tmem.TMEM_COPIES:
        yield _Row(part, "tcgen05.cp", f"tcgen05.cp.{shape}", tmem.COPY_SOURCE, HAVE_TCGEN05)
    for kind in KINDS.values():
        yield _Row(part, "metadata of a sparse A in TMEM", kind.name, sparse_tmem.SOURCE, kind.arches)
        if kind.scaled:
            yield _Row(part, "scale factors in TMEM", kind.name, scale_factors.TMEM_SOURCE, kind.arches)
            yield _Row(part, "scale factors in memory, in blocks of 128 x 4", kind.name, scale_factors.BLOCK_SOURCE,
                       kind.arches)


# ---- arithmetic, time ----------------------------------------------------------------------------------------------------

def _arithmetic(chip):
    named = [(op.family, op.name) for op in TENSOR_OPS.values() if chip.name in op.arches]
    for family, name in (*named, *(("tcgen05.mma", name) for name in _of_tcgen05(chip))):
        one = rule(name, chip.name)
        yield _Row("arithmetic", f"{family}: {_sums(one)}", name, one.provenance, (chip.name,))
    for kind, rules in NARROW_RULES.items():
        for one in rules:
            said = one.source if chip.name == HAVE_TCGEN05[0] else Provenance(
                "assumed", f"as on {HAVE_TCGEN05[0]} ({one.source})")
            differ = ", where two sources differ" if len(rules) > 1 else ""
            yield _Row("arithmetic", f"tcgen05.mma: floats of 8, 6 and 4 bits{differ}", f"kind::{kind}", said, HAVE_TCGEN05)


def _of_tcgen05(chip) -> Iterable[str]:
    """A tcgen05.mma of every kind, type of A and type of D whose sums `rule` has."""
    for kind in KINDS.values():
        if chip.name in kind.arches and kind.name in ("f16", "tf32", "i8"):
            m, n = (sizes[0] for sizes in shapes_of(kind.name)[0][2:])
            for a, _ in kind.formats:
                for d, _ in kind.results if a != "bf16" else kind.results[1:]:
                    yield f"tcgen05.m{m}n{n}k{kind.k}.{d}.{a}.{a}"


def _sums(one: Rule) -> str:
    """How sums are made, in a few words."""
    if one.kind == "fused":
        return f"fused sums of {one.step}, cut {one.fraction_bits} bits below the largest exponent"
    return {"through f16": "floats of 8 bits through f16", "integer": "exact integers", "fma": "f64 by fma"}[one.kind]


def _times():
    for arch, rates in MMA_RATES.items():
        for name, rate in rates.items():
            yield _Row("time", "clocks of an mma at full rate", name, rate.source, (arch,))
