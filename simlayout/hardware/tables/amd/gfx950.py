"""gfx950, CDNA4: Instinct MI350X, MI355X. Its reads of 8 and 16 bytes see 64 banks, its other instructions 32."""

from simlayout.hardware.tables.amd.lds import phases, reads, reads_of_12_bytes, reads_transposing, with_narrow, writes
from simlayout.hardware.tables.arch import AMD, Arch
from simlayout.hardware.tables.provenance import Provenance

_BY_HIPKITTENS = ("by HipKittens on an Instinct MI355X, SQ_LDS_BANK_CONFLICT of every pair of lanes (arXiv 2511.08083, "
                  "analysis/paper_experiments/phases)")
_PAIRS = Provenance("measured elsewhere", _BY_HIPKITTENS)
_COUNTED = Provenance("measured elsewhere", f"{_BY_HIPKITTENS}, and by nod-ai on an MI350X by clock (amd-shark-ai#2919); "
                      "AMD's predictor rocKE says the same (rocm-libraries#11097)")
_PAIRS_OF_12 = Provenance("measured elsewhere", f"{_BY_HIPKITTENS}; at multiples of 16 bytes")
_ATTENTION = Provenance(
    "measured elsewhere", "by AMD's Primus-Turbo on gfx950, SQ_LDS_BANK_CONFLICT of whole attention kernels (AMD-AGI/"
    "Primus-Turbo#462, hk_attn_bwd_d128_gfx950.cu): exactly 2 for each of its reads, and 0 after one XOR was changed. Of "
    "all phases that XORs of the lane's bits make, those that give both numbers are two of 32 lanes, over 64 banks")
_AS_B16 = Provenance("assumed", "as ds_read_b64_tr_b16, whose lanes read as many bytes: nobody has published counts")
_ROCKE = Provenance("documented", "AMD's predictor rocKE (ROCm/rocm-libraries#11097, not merged); no count is published")
_DISPUTED = Provenance(
    "disputed", "AMD's predictor rocKE (rocm-libraries#11097) and AMD in rocm-libraries#3668: two phases of 32 lanes, 32 "
    "banks; nod-ai by clock on an MI350X (amd-shark-ai, docs/empirical-lds/cdna4info.md): one phase of 64 lanes, 64 banks")
_EITHER = "sources disagree whether all lanes share 64 banks, or each half of them 32: this is the costlier answer"

CHIP = Arch(
    "gfx950", (), 160 * 1024, 160 * 1024, "CDNA4 ISA, 2.2.1", "Instinct MI350X, MI355X (CDNA4)", AMD, 64, with_narrow(
        reads(32, phases(64, (5,)), _DISPUTED, caveat=_EITHER, rival=reads(32, phases(64), _DISPUTED, banks=64)),
        reads(64, phases(64, (5,)), _COUNTED, banks=64),
        reads_transposing(16, phases(64, (5,)), _ATTENTION, banks=64),
        reads_transposing(8, phases(64, (5,)), _AS_B16, banks=64),
        reads_transposing(4, phases(64, (5,)), _AS_B16, banks=64),
        reads_of_12_bytes(phases(64, (5,), (4, 2), (3,)), _PAIRS_OF_12),
        reads(128, phases(64, (5,), (4, 3, 2)), _COUNTED, banks=64),
        writes(32, phases(64, (5,)), _ROCKE),
        writes(64, phases(64, (5,), (4,)), _PAIRS),
        writes(128, phases(64, (5,), (4,), (3,)), _ROCKE),
    ))
