"""The GPU architectures the model knows, what only some of them can do, and what all of NVIDIA's share, as tables.

Each of AMD's is a file of its own in `tables.amd`, with its instructions; `tables` adds them to ARCHES.
"""

import re
from dataclasses import dataclass

from simlayout.errors import InstructionError, brief

_GUIDE = "CUDA C++ Programming Guide, table of technical specifications per compute capability"
_TRAITS = "NVIDIA's CUDA Core Compute Libraries, cuda/__device/arch_traits.h"

LANES = 32
"""Threads of a warp, on every architecture of NVIDIA (_GUIDE: warp size)."""

MOST_THREADS = 1024
"""Threads of a CTA at most, on every architecture of NVIDIA (_GUIDE: maximum number of threads per block)."""

MOST_STATIC = 48 << 10
"""Bytes of shared memory that any compiler lets a kernel declare; more is dynamic (_GUIDE). ptxas takes all that a CTA has
for a target such as sm_90a, which Numba uses, and an H200's driver does for sm_90 too, but `nvcc -arch=sm_90` does not."""


@dataclass(frozen=True)
class Vendor:
    """Whose chip it is, and what it calls things: the lanes that execute an instruction together, one pass of an access
    through the banks, the threads that share memory, and that memory."""

    name: str
    warp: str
    wavefront: str
    cta: str
    shared_memory: str


NVIDIA = Vendor("NVIDIA", "warp", "wavefront", "CTA", "shared memory")
AMD = Vendor("AMD", "wave", "pass", "workgroup", "LDS")
"""A wavefront, in AMD's words, is the wave itself; so a pass through the banks is called a pass."""


@dataclass(frozen=True)
class Feature:
    """Instructions that not every GPU has. since: the first compute capability that has them; only: no other one has, so
    ptxas takes them for a target of that architecture alone, such as sm_90a.

    >>> FEATURES["cp.async"].on((9, 0)), FEATURES["wgmma"].on((9, 0)), FEATURES["wgmma"].on((10, 0))
    (True, True, False)
    """

    name: str
    since: tuple
    source: str
    only: bool = False

    def on(self, capability: tuple) -> bool:
        """Whether a GPU of a compute capability, (major, minor), has them."""
        return capability == self.since or (capability > self.since and not self.only)

    def missing(self, capability: tuple) -> str | None:
        """Why a GPU of a compute capability cannot run them, as a sentence; None if it can.

        >>> FEATURES["wgmma"].missing((8, 0))[:73]
        'the GPU has compute capability 8.0; wgmma needs 9.0 (sm_90a): take anothe'
        """
        if self.on(capability):
            return None
        wanted = f"{'.'.join(map(str, self.since))} " + (f"({target_of(self.since)})" if self.only else "or newer")
        return (f"the GPU has compute capability {'.'.join(map(str, capability))}; {self.name} needs {wanted}: take another "
                "kernel, or the CPU machine (--cpu)")


FEATURES = {f.name: f for f in (
    Feature("match.any", (7, 0), "PTX ISA, match.sync: target ISA notes"),
    Feature("cp.async", (8, 0), "PTX ISA, cp.async: target ISA notes"),
    Feature("stmatrix", (9, 0), "PTX ISA, stmatrix: target ISA notes"),
    Feature("clusters", (9, 0), "PTX ISA, barrier.cluster: target ISA notes"),
    Feature("wgmma", (9, 0), "PTX ISA, wgmma.mma_async: target ISA notes", only=True),
)}


@dataclass(frozen=True)
class Arch:
    """capability: (major, minor), () of other vendors' chips. shared_bytes_per_cta: the most shared memory, in bytes, that
    one CTA may have (opt-in maximum); shared_bytes_per_sm: what all CTAs of an SM have together. source: who says so.
    product: what it is sold as; lanes: of a warp; instructions: Instructions of its own, none where it has those of PTX."""

    name: str
    capability: tuple
    shared_bytes_per_cta: int
    shared_bytes_per_sm: int
    source: str
    product: str = ""
    vendor: Vendor = NVIDIA
    lanes: int = LANES
    instructions: tuple = ()

    @property
    def reserved_bytes_per_cta(self) -> int:
        """Bytes of an SM's shared memory that a CTA takes besides its own."""
        return self.shared_bytes_per_sm - self.shared_bytes_per_cta

    @property
    def target(self) -> str:
        """What PTX for it is compiled for: with an "a" where it has a feature that no other architecture has."""
        return target_of(self.capability) if self.capability else self.name


ARCHES = {a.name: a for a in (
    Arch("sm_75", (7, 5), 64 * 1024, 64 * 1024, _GUIDE, "T4, RTX 20 (Turing)"),
    Arch("sm_80", (8, 0), 163 * 1024, 164 * 1024, _GUIDE, "A100 (Ampere)"),
    Arch("sm_86", (8, 6), 99 * 1024, 100 * 1024, _GUIDE, "RTX 30, A10 (Ampere)"),
    Arch("sm_89", (8, 9), 99 * 1024, 100 * 1024, _GUIDE, "RTX 40, L4, L40 (Ada)"),
    Arch("sm_90", (9, 0), 227 * 1024, 228 * 1024, _GUIDE, "H100, H200 (Hopper)"),
    Arch("sm_100", (10, 0), 227 * 1024, 228 * 1024, _GUIDE, "B200 (Blackwell)"),
    Arch("sm_103", (10, 3), 227 * 1024, 228 * 1024, _TRAITS, "B300 (Blackwell Ultra)"),
    Arch("sm_110", (11, 0), 227 * 1024, 228 * 1024, _TRAITS, "Jetson Thor (Blackwell)"),
    Arch("sm_120", (12, 0), 99 * 1024, 100 * 1024, _TRAITS, "RTX 50, RTX PRO 6000 (Blackwell)"),
    Arch("sm_121", (12, 1), 99 * 1024, 100 * 1024, _TRAITS, "GB10, DGX Spark (Blackwell)"),
)}


def arch_of(name: "str | Arch") -> Arch:
    """The row of an architecture; "sm_90a" and "sm_90" name the same chip, as do "sm_100", "sm_100a" and "sm_100f", and an
    Arch is returned as it is. Of a target id such as "gfx942:sramecc+:xnack-" the features are left out.

    Raises InstructionError for a name that is not in the table.

    >>> arch_of("sm_90a").shared_bytes_per_cta
    232448
    """
    if isinstance(name, Arch):
        return name
    text = str(name)
    plain = re.sub(r"(:\w+[+-])+$" if text.startswith("gfx") else r"(?<=\d)a$|(?<=sm_1\d\d)f$", "", text)
    row = ARCHES.get(text) or ARCHES.get(plain)
    if row is None:
        raise InstructionError(f"unknown architecture {brief(name)}{_meant(text)}; use one of {', '.join(ARCHES)}")
    return row


def _meant(text):
    """The chips of a name that leaves out the underscore, or is of what one sells, for an error.

    >>> _meant("sm90"), _meant("H100"), _meant("sm_9")
    (' (did you mean sm_90?)', ' (did you mean sm_90?)', '')
    >>> _meant("MI300"), _meant("RTX 4090")
    (' (did you mean gfx942?)', ' (did you mean sm_89?)')
    """
    word, sold = re.sub(r"[\W_]", "", text.lower()), {}
    for a in ARCHES.values():
        products = (re.sub(r"\W", "", part.split("(")[0]) for part in a.product.lower().split(","))
        sold[a.name] = {a.name.replace("_", ""), *re.findall(r"\w+", a.product.lower()), *products}
    near = [name for name, names in sold.items() if word in names]
    if not near and len(word) > 3:
        alike = {name: max(min(len(each), len(word)) * (each.startswith(word) or len(each) > 2 and word.startswith(each))
                           for each in names) for name, names in sold.items()}
        near = [name for name, most in alike.items() if most and most == max(alike.values())]
    return f" (did you mean {' or '.join(near)}?)" if near else ""


def widest_load(name) -> str:
    """The load that an access of a chip begins with where nobody says: ldmatrix.x4, or the widest of a chip's own.

    >>> widest_load("sm_90"), widest_load("gfx942")
    ('ldmatrix.x4', 'ds_read_b128')
    """
    loads = [row for row in arch_of(name).instructions if row.kind == "load"]
    return max(loads, key=lambda row: (row.bytes, "b128" in row.name)).name if loads else "ldmatrix.x4"


def cuda_arch_of(name) -> Arch:
    """`arch_of`, for what only NVIDIA's chips do. Raises InstructionError for others.

    >>> cuda_arch_of("gfx942")
    Traceback (most recent call last):
    ...
    simlayout.errors.InstructionError: gfx942 is a chip of AMD's: kernels run here as on NVIDIA's, sm_75 to sm_121
    """
    chip = arch_of(name)
    if not chip.capability:
        own = [a.name for a in ARCHES.values() if a.capability]
        raise InstructionError(f"{chip.name} is a chip of {chip.vendor.name}'s: kernels run here as on NVIDIA's, "
                               f"{own[0]} to {own[-1]}")
    return chip


def target_of(capability: tuple) -> str:
    """What PTX for GPUs of a compute capability is compiled for, be it in the table or not.

    >>> target_of((9, 0)), target_of((8, 6)), target_of((12, 0))
    ('sm_90a', 'sm_86', 'sm_120')
    """
    own = any(f.only and f.since == capability for f in FEATURES.values())
    return "sm_{}{}".format(*capability) + "a" * own


def arches_since(capability: tuple) -> tuple:
    """The names of the architectures from a compute capability on.

    >>> arches_since((9, 0))
    ('sm_90', 'sm_100', 'sm_103', 'sm_110', 'sm_120', 'sm_121')
    """
    return tuple(a.name for a in ARCHES.values() if a.capability >= capability)


DEFAULT_ARCH = "sm_90"
"""What is meant where nobody says: the architecture on which the rules were measured."""

DEFAULT_TARGET = ARCHES[DEFAULT_ARCH].target
