"""Which options of a Hopper configuration there are, and which do not go together: tables, and a walk over them."""

from collections.abc import Callable
from dataclasses import dataclass

from cuda_kernels.kernels.hopper.activations import ACTIVATIONS
from cuda_kernels.kernels.hopper.epilogue import EPILOGUES
from cuda_kernels.kernels.hopper.scales import CHUNK, column_scales, grains_of, own_columns
from cuda_kernels.kernels.hopper.sectors import LAP, PITCH
from cuda_kernels.kernels.hopper.slices import owned_at_most
from cuda_kernels.kernels.kernel import choice
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import SimlayoutError
from simlayout.hardware.matrix.operand_tile import majors_of
from simlayout.hardware.tables.arch import ARCHES

SHARED_LIMIT, RESERVED = ARCHES["sm_90"].shared_bytes_per_sm, ARCHES["sm_90"].reserved_bytes_per_cta
"""Bytes of shared memory of an SM, and those that a CTA takes besides its own."""

OTHER_REGISTERS = 28
"""What a kernel needs beside its accumulators at least, so that ptxas spills nothing."""

BANDS_REGISTERS = {("tma", "N", False): 36, ("tma", "M", False): 36, ("tma", "N", True): 60, ("tma", "M", True): 60,
                   ("direct", "N", False): 48, ("direct", "M", False): 48, ("direct", "N", True): 60,
                   ("direct", "M", True): 96, ("sectors", "N", False): 32}
"""The same of one with two bands, by `store`, `c_major` and `split`: with tiles 8 columns wider than that allows some
spilled."""

PROMOTED_REGISTERS = 20, 32
"""The same of one that promotes its sums, beside its products and scales of columns, by whether a thread has a scale for
each of its columns: with 15 and 72 left nothing spilled, with 24 of the latter 8 bytes."""

LINES_REGISTERS = 136
"""The same of one with two bands and scales of lines that stores C directly: with 48 to 96 left it spilled 100 to 1,100
bytes."""

EPILOGUE_REGISTERS = {1: 40, 2: 56}
"""The same of one with an epilogue of more than three parts, or any and two bands, by `bands`: with 32 left all five parts
spilled 8 to 44 bytes, three none; with 40 and two bands two parts spilled 36 bytes."""

SLICED_REGISTERS = 44
"""The same of one in slices with such an epilogue of more than three parts, or of four consumers that store columns of C
through TMA: with 40 left these spilled 4 bytes."""

SLICED_GROUPS = 12
"""Groups of 8 columns that a slice finishes at most with an epilogue: with scales of lines and 13 of five parts, 14 of three
or 16 of two, ptxas let no wgmma overlap another (C7514); with 12 of five it did."""

CHOICES = dict(
    tile_m=(64, 128, 192, 256), tile_n=range(8, 257, 8), box=(0, 16, 32, 48, 64),
    a_major=("K", "MN"), b_major=("K", "MN"), c_major=("N", "M"),
    dtype=("f16", "bf16", "e4m3", "e5m2", "s8", "u8"), b_dtype=("", "e4m3", "e5m2", "s8", "u8"),
    scaled=("", "tensor", "lines", "1x128", "128x1", "1x1", "128x128"), out=("f16", "bf16", "f32", "s32"),
    store=("tma", "sectors", "direct"), cluster_m=(1, 2, 4), cluster_n=(1, 2, 4),
    slices=range(1, 9), resident=(1, 2), bands=(1, 2), producer=(4, 1), body=("wgmma_persistent", "wgmma_tma", "mma_tma"))
"""What the options of a configuration may be."""

_ONE_TILE = dict(slices=(1,), resident=(1,), store=("direct",), split=(False,), persistent=(False,), pingpong=(False,),
                 scaled=("",), grouped=(False,), epilogue=("",))

ONLY = {
    "wgmma_tma": dict(tile_m=(64,), stages=(1,), cluster_m=(1,), cluster_n=(1,), bands=(1,), **_ONE_TILE),
    "mma_tma": dict(tile_m=(192,), tile_n=(256,), stages=(2, 3, 4), bands=(1,), a_major=("K",), b_major=("K",),
                    c_major=("N",), dtype=("f16", "bf16"), b_dtype=("",), out=("f16", "bf16"), move_registers=(False,),
                    **_ONE_TILE),
}
"""The same where a kernel has no more: one tile per CTA, and of mma_tma what its index functions were proved for."""


@dataclass(frozen=True)
class Rule:
    """What no configuration may be. breaks(config): whether it is that; fault(config): what is wrong, and what to set."""

    breaks: Callable[..., bool]
    fault: Callable[..., str]


def multiplied_together(a, b):
    """Whether wgmma multiplies elements of one dtype by those of another: of the same, or of 8 bits and one kind.

    >>> multiplied_together("e4m3", "e5m2"), multiplied_together("e4m3", "s8"), multiplied_together("f16", "bf16")
    (True, False, False)
    """
    return len({(TYPES[dtype].bits, TYPES[dtype].accumulators) for dtype in (a, b)}) == 1


def fault_of(types, out, scaled, epilogue=""):
    """Why there is no product of operands of two dtypes to C of dtype `out`, scaled and with an epilogue as Hopper's options
    say, and what there is; "" where there is one.

    >>> fault_of(("e4m3", "e5m2"), "bf16", "1x128"), fault_of(("f16", "f16"), "f16", "1x128")
    ('', 'a and b are f16 with scales for every 128 of K: only 8-bit operands have these')
    """
    a, b = types
    if not multiplied_together(a, b):
        return f"a is {a} and b is {b}: convert one of them: wgmma mixes e4m3 and e5m2, and s8 and u8, nothing else"
    if out == "s32" and (TYPES[a].accumulators[0] != "s32" or scaled or epilogue):
        what = a + f" scaled by {scaled}" * bool(scaled) + f" with {epilogue}" * bool(epilogue)
        return f"out is s32, of {what}: an int32 has the sums of integers as they are; use f32, f16 or bf16"
    if grains_of(scaled) and TYPES[a].bits != 8:
        return f"a and b are {a} with scales for every 128 of K: only 8-bit operands have these"
    return ""


RULES = (
    Rule(lambda c: c.epilogue not in EPILOGUES,
         lambda c: f"epilogue = {c.epilogue!r}: it is any of these words in this order: alpha, residual, bias_n or bias_m, "
                   f"{' or '.join(ACTIVATIONS)}, multiply"),
    Rule(lambda c: fault_of(c.types, c.out, c.scaled, c.epilogue) != "",
         lambda c: fault_of(c.types, c.out, c.scaled, c.epilogue)),
    Rule(lambda c: c.accumulates == "s32" and c.tile_n > 32 and c.tile_n % 16 > 0,
         lambda c: f"tile_n = {c.tile_n}: wgmma of integers has 8, 16, 24 or 32 columns, or a multiple of 16 up to 256"),
    Rule(lambda c: grains_of(c.scaled) is not None and c.tile_n % CHUNK * (CHUNK % c.tile_n) > 0,
         lambda c: f"scaled = {c.scaled!r} needs a tile_n of 8, 16 or a multiple of {CHUNK}: so many columns lie in "
                   "one block"),
    Rule(lambda c: grains_of(c.scaled) is not None and (c.producer != 4 or c.pingpong),
         lambda c: f"scaled = {c.scaled!r} needs producer=4, of which one warp copies the scales, and pingpong=False: "
                   "consumers with a tile each multiply by turns, and none would while one promotes"),
    Rule(lambda c: not {c.a_major, c.b_major} <= set(majors_of(c.dtype)),
         lambda c: f'a_major = {c.a_major!r}, b_major = {c.b_major!r}: wgmma reads {c.dtype} K-major alone; use "K"'),
    Rule(lambda c: c.store != "direct" and TYPES[c.out].bytes == 4,
         lambda c: f'an {c.out} C is stored with store="direct": stmatrix moves 16-bit elements'),
    Rule(lambda c: c.store == "tma" and c.box_n > c.tile_n,
         lambda c: f"tile_n = {c.tile_n} is less than the {c.box_n} columns of a box: "
                   + ("use a smaller box" if c.box > 16 else 'store it with store="direct"')),
    Rule(lambda c: c.store == "sectors" and (c.tile_n % 16 != 8 or not LAP < c.tile_n <= PITCH),
         lambda c: f'tile_n = {c.tile_n}: store="sectors" needs an odd multiple of 8 from 24 to {PITCH}, of which '
                   "neighbours share 8"),
    Rule(lambda c: c.store == "sectors" and c.buffers > c.bands,
         lambda c: f'buffers = {c.buffers}: store="sectors" has at most one for each of the {c.bands} bands'),
    Rule(lambda c: c.store == "sectors" and (c.c_major != "N" or c.split or c.slices > 1 or c.box > 0 or c.grouped),
         lambda c: 'store="sectors" needs c_major="N", split=False, slices=1, box=0 and grouped=False: it copies whole '
                   "lines of a tile"),
    Rule(lambda c: c.box == 48 and c.c_major == "N",
         lambda c: 'box = 48 needs c_major="M": rows of 16, 32 or 64 columns are swizzled by 32, 64 or 128 bytes'),
    Rule(lambda c: c.epilogue != "" and (c.grouped or c.store == "sectors"),
         lambda c: f'epilogue = {c.epilogue!r} needs grouped=False, and store="tma" or "direct": tiles of "sectors" '
                   "overlap"),
    Rule(lambda c: c.store == "tma" and c.epilogue != "" and c.tile_n % c.box_n > 0,
         lambda c: f"epilogue = {c.epilogue!r} with tile_n = {c.tile_n}: boxes of {c.box_n} columns overlap, and would read "
                   "a residual that has been stored; use another box or tile_n"),
    Rule(lambda c: c.cluster_ctas > 8,
         lambda c: f"cluster_m = {c.cluster_m}, cluster_n = {c.cluster_n}, slices = {c.slices}: a cluster has at most 8 "
                   "CTAs"),
    Rule(lambda c: c.tile_m % (64 * c.bands) > 0,
         lambda c: f"tile_m = {c.tile_m} is no multiple of the {64 * c.bands} rows of a consumer"),
    Rule(lambda c: bool(to_set(c)),
         lambda c: f"{c.body} is a simpler kernel: set {', '.join(to_set(c))}"),
    Rule(lambda c: c.split and not c.persistent,
         lambda c: "split=True needs persistent=True: the CTAs of a cut tile wait for one another"),
    Rule(lambda c: c.slices > 1 and (c.split or c.bands > 1 or not c.persistent),
         lambda c: "slices need persistent=True, split=False and bands=1: they cut tiles their own way"),
    Rule(lambda c: c.slices > 1 and c.epilogue != "" and owned_at_most(c.tile_n, c.slices) > SLICED_GROUPS,
         lambda c: f"epilogue = {c.epilogue!r} with tile_n = {c.tile_n} in {c.slices} slices: each finishes "
                   f"{8 * owned_at_most(c.tile_n, c.slices)} columns, and wgmma no longer overlap with more than "
                   f"{8 * SLICED_GROUPS}: use more slices or a smaller tile_n"),
    Rule(lambda c: c.pingpong and (c.slices > 1 or not c.persistent or c.row_bands != c.bands),
         lambda c: "pingpong needs persistent=True, slices=1 and tile_m=64, or 128 with bands=2: its two consumers have a "
                   "tile each"),
    Rule(lambda c: c.grouped and c.sharing > 1,
         lambda c: "grouped needs cluster_m=cluster_n=1: at no product that was measured was a cluster faster "
                   "(tests/data/h100_groups_in_clusters.json)"),
    Rule(lambda c: c.grouped and (c.slices > 1 or c.split or not c.persistent),
         lambda c: "grouped needs persistent=True, slices=1 and split=False: how many tiles there are, and so which of them "
                   "would be cut, the device alone knows"),
    Rule(lambda c: c.grouped and c.turned(c.a_major, c.b_major)[0] != "K",
         lambda c: f'{c.turned("a", "b")[0]}_major = "MN" with grouped: groups begin at any row, and TMA ends the kernel '
                   'where a box does not start on 16 bytes along a line; use "K"'),
    Rule(lambda c: c.grouped and c.scaled != "" and c.turned(*(grains_of(c.scaled) or (1, 1)))[0] > 1,
         lambda c: f"scaled = {c.scaled!r} with grouped: groups begin at any row, so each row has scales of its own; use "
                   + ('"1x128" or "1x1"' if c.c_major == "N" else '"128x1" or "1x1"')),
    Rule(lambda c: c.body == "wgmma_persistent" and c.stages < 2,
         lambda c: f"stages = {c.stages}: a stage is released one step after it was read, so at least 2"),
    Rule(lambda c: c.accumulators + other_registers(c) > c.consumer_registers,
         lambda c: f"{c.tile_m}x{c.tile_n} with {c.resident} CTAs of {c.block} threads per SM: a thread may have "
                   f"{c.consumer_registers} registers, {c.accumulators} of them accumulators, and needs "
                   f"{other_registers(c)} more: use {'producer=1, ' * (grains_of(c.scaled) is None)}resident=1 or a smaller "
                   "tile"),
    Rule(lambda c: c.resident * (c.shared_bytes + RESERVED) > SHARED_LIMIT,
         lambda c: f"{c.stages} stages of {c.tile_m}x{c.tile_n}x{c.depth} need {c.shared_bytes} bytes of shared memory; a "
                   f"CTA has {SHARED_LIMIT // c.resident - RESERVED}: use fewer stages or buffers"),
)
"""What options of a configuration do not go together. A rule may rely on those before it."""


def to_set(config):
    """What a simpler kernel needs set otherwise, in words."""
    return [f"{name}={' or '.join(map(repr, allowed))}" for name, allowed in ONLY.get(config.body, {}).items()
            if getattr(config, name) not in allowed]


def other_registers(config):
    """Registers that a consumer's thread needs beside its accumulators."""
    parts = len(config.epilogue.split())
    finishing = EPILOGUE_REGISTERS[config.bands] if parts > 3 or (parts and config.bands == 2) else 0
    if grains_of(config.scaled):
        return config.tile_n // 2 + column_scales(config) + max(PROMOTED_REGISTERS[own_columns(config)], finishing)
    if config.scaled == "lines" and config.bands == 2 and config.store == "direct":
        return max(LINES_REGISTERS, finishing)
    others = OTHER_REGISTERS if config.bands == 1 else BANDS_REGISTERS[config.store, config.c_major, config.split]
    if config.slices > 1 and (parts > 3 or (config.consumers, config.store, config.c_major) == (4, "tma", "M")):
        others = SLICED_REGISTERS
    return max(others, finishing)


def check(config):
    """Raises SimlayoutError for a configuration that no kernel can have: an option that there is not, or the first of the
    RULES that it breaks."""
    for name, allowed in CHOICES.items():
        choice(name, getattr(config, name), allowed)
    for rule in RULES:
        if rule.breaks(config):
            raise SimlayoutError(rule.fault(config))
