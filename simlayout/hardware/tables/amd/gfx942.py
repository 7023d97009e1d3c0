"""gfx942, CDNA3: Instinct MI300A, MI300X, MI325X."""

from simlayout.hardware.tables.amd.lds import phases, reads, with_narrow, writes
from simlayout.hardware.tables.arch import AMD, Arch
from simlayout.hardware.tables.provenance import Provenance

_COUNTED = Provenance(
    "measured elsewhere", "by nod-ai on an Instinct MI300X, SQ_LDS_BANK_CONFLICT and clock (amd-shark-ai#2919, "
    "docs/empirical-lds/cdna3info.md, 2026-06); AMD's predictor rocKE says the same (rocm-libraries#11096)")
_ROCKE = Provenance("documented", "AMD's predictor rocKE (ROCm/rocm-libraries#11096, not merged)")
_WRITE_128 = Provenance("documented", "rocKE (ROCm/rocm-libraries#11096, not merged) and the documentation of Composable "
                        "Kernel, LDS bank conflicts")

CHIP = Arch(
    "gfx942", (), 64 * 1024, 64 * 1024, "CDNA3 ISA, 2.2.1; ROCm Compute Profiler, pipeline descriptions, Local data share",
    "Instinct MI300A, MI300X (CDNA3)", AMD, 64, with_narrow(
        reads(32, phases(64, (5,)), _COUNTED),
        reads(64, phases(64, (5,), (4,)), _COUNTED),
        reads(128, phases(64, (5,), (4, 2), (3,)), _COUNTED),
        writes(32, phases(64, (5,)), _ROCKE),
        writes(64, phases(64, (5,), (4,)), _ROCKE),
        writes(128, phases(64, (5,), (4,), (3,)), _WRITE_128),
    ))
