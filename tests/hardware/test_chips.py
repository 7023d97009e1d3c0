"""NVIDIA's chips beside the H200: what each has, as ptxas says; and that what was not measured there is called assumed."""

import numpy as np
import pytest
from ptxas_says import complaints, needs_ptxas

from simlayout.hardware import ARCHES, add_records, analyze, arch_of
from simlayout.hardware.banks.records import Cases, check_file, save_records
from simlayout.hardware.tables import provenance as said
from simlayout.hardware.tables.instructions import instructions_of
from simlayout.hardware.tables.mma import MMAS, per_register
from simlayout.hardware.tables.operand_readers import READERS
from simlayout.hardware.tables.tcgen05 import KINDS
from simlayout.hardware.tables.tensor_ops import TENSOR_OPS
from simlayout.numerics import rule

NVIDIA = [name for name, chip in ARCHES.items() if chip.capability]
BLACKWELL = [name for name in NVIDIA if ARCHES[name].capability >= (10, 0)]


@pytest.mark.parametrize("arch", BLACKWELL)
def test_every_rule_of_shared_memory_on_blackwell_is_called_assumed(arch):
    rows = instructions_of(arch)
    assert rows.keys() == instructions_of("sm_90").keys()
    for name in rows:
        result = analyze(name, np.arange(32) * 16, arch=arch, **({"sources": np.arange(32) * 16} if "cp." in name else {}))
        assert result.provenance.kind == "assumed" and f"taken to hold on {arch}" in result.provenance.text


def test_names_of_families_and_of_features_are_the_chip():
    assert {arch_of(name).name for name in ("sm_100", "sm_100a", "sm_100f")} == {"sm_100"}
    assert {arch_of(name).name for name in ("sm_121", "sm_121a", "sm_121f")} == {"sm_121"}


@pytest.mark.parametrize("arch", BLACKWELL)
def test_a_record_of_such_a_gpu_makes_its_rule_measured(arch, tmp_path, monkeypatch):
    monkeypatch.setattr(said, "_added", [])
    about = {"arch": arch, "device": "a made-up GPU", "driver": "1.2", "cuda": "13.0", "tool": "ncu", "date": "2026-01-01",
             "command": "simlayout conform"}
    lanes, every = 8 * np.arange(32)[None], np.ones((1, 32), bool)
    counts = analyze("ld.shared.b64", lanes, arch=arch)
    cases = Cases("ld.shared.b64", "ld.shared.b64", lanes, every, None, None, ("a row",), counts.wavefronts,
                  counts.conflicts, counts.loads)
    save_records(tmp_path / "mine.npz", about, [cases])
    summary, checked = check_file(tmp_path / "mine.npz")
    assert summary.arch == arch and not checked[0].wrong.any()
    add_records(tmp_path / "mine.npz")
    assert analyze("ld.shared.b64", lanes, arch=arch).provenance.kind == "measured"
    assert analyze("st.shared.b64", lanes, arch=arch).provenance.kind == "assumed"


def _registers(letter, start, count):
    return "{" + ", ".join(f"{letter}{start + i}" for i in range(count)) + "}"


def _spelled(mma):
    """A line of PTX with registers enough."""
    operands = mma.operands()

    def of(operand):
        rows, columns, dtype = operands[operand]
        wide = dtype == "f64"
        return _registers("d" if wide else "r", 0, rows * columns // 32 // per_register(dtype))

    return f"{mma.opcode} {', '.join(map(of, 'DABC'))};"


@needs_ptxas
@pytest.mark.parametrize("arch", NVIDIA)
def test_ptxas_takes_the_warp_level_products_that_the_table_gives_a_chip(arch, tmp_path):
    target = f"{arch}a" if ARCHES[arch].capability >= (9, 0) else arch
    refused = complaints(list(map(_spelled, MMAS.values())), tmp_path, target, "9.0")
    for mma, why in zip(MMAS.values(), refused):
        assert (arch in TENSOR_OPS[mma.name].arches) == (why is None), (mma.name, why)


@needs_ptxas
@pytest.mark.parametrize("arch", [name for name in NVIDIA if ARCHES[name].capability >= (9, 0)])
def test_ptxas_takes_tcgen05_and_its_kinds_on_the_chips_that_have_them(arch, tmp_path):
    def line(kind):
        scales = " [r2], [r3]," if kind.scaled else ""
        vector = f".block_scale.scale_vec::{max(kind.vectors)[1]}X" if kind.scaled else ""
        return f"tcgen05.mma.cta_group::1.kind::{kind.name}{vector} [r0], d0, d1, r1,{scales} p0;"

    dense = list(map(line, KINDS.values()))
    sparse = [text.replace(".mma.", ".mma.sp.").replace("d1, r1", "d1, [r4], r1") for text in dense]
    refused = complaints(dense + sparse, tmp_path, f"{arch}a", "9.0")
    for kind, why in zip([*KINDS.values()] * 2, refused, strict=True):
        assert (arch in kind.arches) == (why is None), (kind.name, why)
    assert (arch in READERS["tcgen05"].arches) == (refused[0] is None)


@pytest.mark.parametrize("arch", BLACKWELL)
def test_the_arithmetic_of_a_chip_says_who_gave_its_rule(arch):
    told = {op.family: rule(name, arch).provenance for name, op in TENSOR_OPS.items() if arch in op.arches}
    assert set(told) == {"mma.sync", "mma.sp"}
    halves = rule("m16n8k16.f32.f16.f16.f32", arch).provenance
    assert halves.kind == ("documented" if arch in ("sm_100", "sm_120") else "assumed")
    fp8 = rule("m16n8k32.f32.e4m3.e4m3.f32", arch)
    assert fp8.kind == ("fused" if arch in ("sm_120", "sm_121") else "through f16")
    if arch in READERS["tcgen05"].arches:
        told = rule("tcgen05.m128n256k16.f32.f16.f16", arch).provenance.kind
        assert told == ("measured elsewhere" if arch == "sm_100" else "assumed")
