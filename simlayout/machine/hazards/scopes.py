"""Scopes of strong accesses and fences: the threads with which they may synchronize, and meet without order (PTX ISA, Memory
Consistency Model: Scope, Morally strong operations).

Two strong accesses are morally strong only if each has a scope that the other's thread is in, and they are of the same
bytes; else they race as plain ones do. The system is taken for the GPU: there is one.
"""

import re
from functools import lru_cache
from typing import Any

CTA, CLUSTER, GPU = range(3)
"""How far a scope reaches; and how far apart two threads are: in one CTA, in one cluster, in neither."""


@lru_cache(4096)
def reach_of(instruction: str) -> int:
    """How far a strong access or a fence reaches, by its name: to the GPU unless it says less.

    >>> reach_of("atom.acq_rel.cta.global.add.u32"), reach_of("fence.acq_rel.cluster"), reach_of("red.shared::cta.add.u32")
    (0, 1, 2)
    """
    modifiers = instruction.split(".")
    return CTA if "cta" in modifiers else CLUSTER if "cluster" in modifiers else GPU


def is_narrow(instruction: str) -> bool:
    """Whether an instruction is a strong access, of other memory than shared, that reaches less than the GPU.

    >>> [is_narrow(name) for name in ("ld.relaxed.cta.u32", "red.relaxed.gpu.add.u32", "fence.acq_rel.cta")]
    [True, False, False]
    """
    opcode, *modifiers = instruction.split(".")
    return opcode in ("ld", "st", "atom", "red") and reach_of(instruction) < GPU and "shared" not in modifiers


def is_sequential(instruction: str) -> bool:
    """Whether an instruction is a fence.sc of the GPU, as membar is one (PTX ISA: membar, fence).

    >>> [is_sequential(name) for name in ("membar.gl", "membar.cta", "fence.sc.sys", "fence.acq_rel.gpu")]
    [True, False, True, False]
    """
    opcode, *modifiers = instruction.split(".")
    return (opcode == "membar" or opcode == "fence" and "sc" in modifiers) and reach_of(instruction) == GPU


@lru_cache(4096)
def value_bytes(instruction: str) -> int | None:
    """Bytes of a value that a strong access reads or writes at once, by its name: of a vector, or of packed halves, each is
    one of its own; None if the name has no type.

    >>> [value_bytes(name) for name in ("ld.relaxed.gpu.v2.u64", "red.global.add.noftz.bf16x2", "atomic_add")]
    [8, 2, None]
    """
    type = re.fullmatch(r"(?:.*\.)?(?:b|u|s|f|bf)(8|16|32|64|128)(?:x2)?", instruction)
    return type and int(type[1]) // 8


def home_of(cta: Any) -> tuple[int, int, int]:
    """Where the threads of a Cta are: who runs at the same time, the first warp of its cluster and its own."""
    return cta.clocks.serial, cta.cluster.ctas[0].first, cta.first


def apart(one: tuple[int, int, int], other: tuple[int, int, int]) -> int:
    """How far apart the threads of two homes are.

    >>> apart((1, 0, 4), (1, 0, 4)), apart((1, 0, 4), (1, 0, 0)), apart((1, 0, 4), (1, 8, 8)), apart((1, 0, 4), (2, 0, 4))
    (0, 1, 2, 2)
    """
    return CTA if one == other else CLUSTER if one[:2] == other[:2] else GPU
