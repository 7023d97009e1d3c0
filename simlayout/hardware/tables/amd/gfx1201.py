"""gfx1201, RDNA4: Radeon RX 9070. In waves of 32 lanes; those of 64 are not measured."""

from simlayout.hardware.tables.amd.lds import phases, reads, reads_of_12_bytes, with_narrow, writes
from simlayout.hardware.tables.arch import AMD, Arch
from simlayout.hardware.tables.provenance import Provenance

_TIMED = Provenance("measured elsewhere", "by nod-ai on a Radeon RX 9070 XT, by clock (amd-shark-ai#2919, "
                    "docs/empirical-lds/rdna4info.md, 2026-06)")
_TWELVE = Provenance("documented", "AMD, quoted in triton-lang/triton#11365: GFX12 serves DS_LOAD_B96 and DS_LOAD_B128 in "
                     "four cycles of 8 neighbouring lanes, other than GFX11; at multiples of 16 bytes")
_ASSUMED = Provenance("assumed", "as many lanes a phase as the read of that width has, in their order: nobody has published "
                      "the phases of writes on RDNA")

CHIP = Arch(
    "gfx1201", (), 64 * 1024, 128 * 1024, "RDNA4 ISA, LDS: 128 kB of a workgroup processor, 64 kB of a workgroup",
    "Radeon RX 9070 (RDNA4)", AMD, 32, with_narrow(
        reads(32, phases(32), _TIMED),
        reads(64, phases(32, (4,)), _TIMED),
        reads_of_12_bytes(phases(32, (4,), (3,)), _TWELVE),
        reads(128, phases(32, (4,), (3,)), _TIMED),
        writes(32, phases(32), _ASSUMED),
        writes(64, phases(32, (4,)), _ASSUMED),
        writes(128, phases(32, (4,), (3,)), _ASSUMED),
    ))
