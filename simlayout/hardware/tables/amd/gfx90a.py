"""gfx90a, CDNA2: Instinct MI210, MI250, MI250X."""

from simlayout.hardware.tables.amd.lds import phases, reads, with_narrow, writes
from simlayout.hardware.tables.arch import AMD, Arch
from simlayout.hardware.tables.provenance import Provenance

_ROCKE = Provenance("documented", "AMD's predictor rocKE and its tests (ROCm/rocm-libraries#11094, not merged)")
_WRITE_128 = Provenance("documented", "rocKE (ROCm/rocm-libraries#11094, not merged) and the documentation of Composable "
                        "Kernel, LDS bank conflicts")

CHIP = Arch(
    "gfx90a", (), 64 * 1024, 64 * 1024, "ROCm Compute Profiler, pipeline descriptions, Local data share",
    "Instinct MI210, MI250 (CDNA2)", AMD, 64, with_narrow(
        reads(32, phases(64, (5,)), _ROCKE),
        reads(64, phases(64, (5,), (4,)), _ROCKE),
        reads(128, phases(64, (5,), (4, 2), (3,)), _ROCKE),
        writes(32, phases(64, (5,)), _ROCKE),
        writes(64, phases(64, (5,), (4,)), _ROCKE),
        writes(128, phases(64, (5,), (4,), (3,)), _WRITE_128),
    ))
