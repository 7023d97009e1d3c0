"""gfx1100, RDNA3: Radeon RX 7900, PRO W7900. In waves of 32 lanes; those of 64 are not measured."""

from simlayout.hardware.tables.amd.lds import phases, reads, with_narrow, writes
from simlayout.hardware.tables.arch import AMD, Arch
from simlayout.hardware.tables.provenance import Provenance

_TIMED = Provenance("measured elsewhere", "by nod-ai on a Radeon PRO W7900, by clock (amd-shark-ai#2919, "
                    "docs/empirical-lds/rdna3info.md, 2026-06)")
_ASSUMED = Provenance("assumed", "as many lanes a phase as the read of that width has, in their order: nobody has published "
                      "the phases of writes on RDNA")

CHIP = Arch(
    "gfx1100", (), 64 * 1024, 128 * 1024, "RDNA3 ISA, LDS: 128 kB of a workgroup processor, 64 kB of a workgroup",
    "Radeon RX 7900, PRO W7900 (RDNA3)", AMD, 32, with_narrow(
        reads(32, phases(32), _TIMED),
        reads(64, phases(32, (4,)), _TIMED),
        reads(128, phases(32, (4, 2), (3,)), _TIMED),
        writes(32, phases(32), _ASSUMED),
        writes(64, phases(32, (4,)), _ASSUMED),
        writes(128, phases(32, (4,), (3,)), _ASSUMED),
    ))
