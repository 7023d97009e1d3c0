"""The script that counts on AMD's GPUs: its cases, its program, and its way through ROCm's tools, which stand-ins play."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import printed, refused

from cuda_kernels.conformance import rocm
from simlayout.cli import main
from simlayout.hardware import ARCHES, analyze, arch_of, instruction
from simlayout.hardware.tables.instructions import instructions_of

CHIPS = [name for name, chip in ARCHES.items() if chip.instructions]


@pytest.mark.parametrize("chip", CHIPS)
def test_the_script_knows_every_instruction_of_every_chip_and_its_cases_are_addresses(chip):
    assert {name for name, *_ in rocm.instructions(chip)} == set(instructions_of(chip))
    for name, of_rdna, size in rocm.instructions(chip):
        row = instruction(of_rdna, chip)
        assert (row.name, row.bytes) == (name, size)
        labels, addresses, active = zip(*rocm.cases_of(name, size, row.lanes, 3), strict=True)
        found = analyze(name, np.array(addresses), np.array(active), arch=chip)
        assert len(labels) == len(found) > 250 and (found.conflicts > 0).sum() > 50
        assert rocm.cases(size, row.lanes, 3) == rocm.cases(size, row.lanes, 3) != rocm.cases(size, row.lanes, 4)


def test_the_cases_tell_the_rules_of_any_two_chips_apart():
    for name, _, size in rocm.instructions("gfx942"):
        _, addresses, active = zip(*rocm.cases(size, 64, 0), strict=True)
        counts = {chip: tuple(analyze(name, np.array(addresses), np.array(active), arch=chip).conflicts.tolist())
                  for chip in ("gfx942", "gfx950")}
        differ = name in ("ds_read_u8", "ds_read_u16", "ds_read_b32", "ds_read_b64", "ds_read_b128")
        assert (counts["gfx942"] != counts["gfx950"]) == differ


@pytest.mark.parametrize("chip", [*CHIPS, "gfx1151"])
def test_the_program_executes_each_instruction_as_its_chip_writes_it(chip):
    text = rocm.source(chip)
    wait = "s_wait_dscnt 0x0" if chip == "gfx1201" else "s_waitcnt lgkmcnt(0)"
    for name, of_rdna, _ in rocm.instructions(chip):
        assert f'"{of_rdna if chip.startswith("gfx1") else name} %0, %1\\n{wait}' in text and f"lds_case_{name}(" in text


TOOLS = {
    "rocm_agent_enumerator": "print('gfx000\\ngfx942')",
    "hipcc": "import shutil; shutil.copy({program!r}, sys.argv[sys.argv.index('-o') + 1])",
    "rocprofv3": """
import csv, os, pathlib, struct, subprocess
if "--version" in sys.argv:
    print("rocprofv3 version: 1.3.1"); sys.exit()
import numpy as np
from simlayout.hardware import analyze
names = {names!r}
data = open(sys.argv[-1], "rb").read()
folder = pathlib.Path(sys.argv[sys.argv.index("-d") + 1]) / "host"
folder.mkdir(parents=True)
rows = []
for at in range(0, len(data), 516):
    head, *words = struct.unpack("<129I", data[at:at + 516])
    lanes = head >> 8
    a = analyze(names[head & 255], [words[:lanes]], [np.array(words[64:64 + lanes]) > 0], arch="gfx942")
    kernel = f"lds_case_{{names[head & 255]}}.kd"
    rows.append([at // 516 + 1, kernel, "SQ_LDS_BANK_CONFLICT", 16.0 * int(a.conflicts[0]) + {wrong} * (at == 0)])
with open(folder / "1_counter_collection.csv", "w", newline="") as file:
    out = csv.writer(file)
    out.writerow(["Dispatch_Id", "Kernel_Name", "Counter_Name", "Counter_Value"])
    out.writerows(reversed(rows))
""",
    "program": "print('gfx942:sramecc+:xnack-\\nAMD Instinct MI300X\\n64\\n60443484\\n60443484')",
}
"""What the stand-ins do: the counter says what the model says, of gfx942."""


def tools(folder, wrong=0):
    """A folder with ROCm's tools played by Python scripts; wrong: added to the first case's counter."""
    for name, body in TOOLS.items():
        path = folder / name
        names = [name for name, *_ in rocm.INSTRUCTIONS]
        text = body if name == "program" else body.format(program=str(folder / "program"), names=names, wrong=wrong)
        path.write_text(f"#!{sys.executable}\nimport sys\n{text}\n")
        path.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(Path(rocm.__file__).parents[2])}


def test_a_record_goes_from_the_script_to_the_check(tmp_path, capsys):
    script, record = tmp_path / "conform_lds.py", tmp_path / "record.json"
    assert str(script) in printed(capsys, "conform", "--rocm", str(script))
    done = subprocess.run([sys.executable, script, record], env=tools(tmp_path), text=True, capture_output=True)
    assert done.returncode == 0 and "cases on AMD Instinct MI300X (gfx942)" in done.stdout, done.stderr
    text = printed(capsys, "conform", "--check", str(record))
    assert "ds_read_b128" in text and "measured on one AMD Instinct MI300X (driver 60443484, ROCm 60443484)" in text
    found = json.loads(printed(capsys, "conform", "--check", str(record), "--json"))
    assert found[0]["arch"] == "gfx942" and all(wrong == 0 for _, wrong in found[0]["cases"].values())

    changed = json.loads(record.read_text())
    changed["cases"]["ds_read_b128"]["conflicts"][5] += 1
    record.write_text(json.dumps(changed))
    assert main(["conform", "--check", str(record)]) == 1
    out = capsys.readouterr().out
    assert "case 5 (stride 5): 0 conflicts predicted, 1 measured" in out and "phase 0, lanes 0-3, 20-23" in out


def test_a_record_settles_what_sources_dispute(tmp_path, capsys):
    cases = rocm.cases(4, 64, 0)
    labels, addresses, active = zip(*cases, strict=True)
    for rule in (instruction("ds_read_b32", "gfx950"), instruction("ds_read_b32", "gfx950").rival):
        counts = analyze(replace(rule, rival=None), np.array(addresses), np.array(active), arch="gfx950").conflicts
        one = {"labels": labels, "addresses": addresses, "active": [[int(x) for x in a] for a in active],
               "conflicts": counts.tolist()}
        about = {"arch": "gfx950", "device": "AMD Instinct MI355X", "driver": "1", "rocm": "7", "tool": "t", "date": "d"}
        path = tmp_path / "record.json"
        path.write_text(json.dumps({"about": about, "cases": {"ds_read_b32": one}}))
        assert main(["conform", "--check", str(path)]) == 0
    capsys.readouterr()


@pytest.mark.parametrize("change, words", [
    (lambda r: r.pop("about"), "no record"), (lambda r: r["cases"]["ds_read_b32"]["labels"].pop(), "differ in length"),
    (lambda r: r["about"].update(arch="gfx000"), "unknown architecture"),
    (lambda r: r["cases"].update(ds_read_b96=r["cases"]["ds_read_b32"]), "who shares a phase is published of"),
])
def test_records_that_are_none_are_refused(tmp_path, capsys, change, words):
    one = {"labels": ["x"], "addresses": [[0] * 64], "active": [[1] * 64], "conflicts": [0]}
    record = {"about": {"arch": "gfx942", "device": "d", "driver": "1", "rocm": "7", "tool": "t", "date": "d"},
              "cases": {"ds_read_b32": one}}
    change(record)
    path = tmp_path / "record.json"
    path.write_text(json.dumps(record))
    assert words in refused(capsys, "conform", "--check", str(path))


def test_a_counter_that_is_no_multiple_is_no_record(tmp_path):
    done = subprocess.run([sys.executable, rocm.__file__, tmp_path / "record.json"], env=tools(tmp_path, wrong=3), text=True,
                          capture_output=True, cwd=tmp_path)
    assert done.returncode == 1 and "no whole number for each of 16" in done.stderr
    assert not (tmp_path / "record.json").exists()


def test_the_script_needs_no_package():
    text = Path(rocm.__file__).read_text()
    imported = {line.split()[1].split(".")[0] for line in text.splitlines() if line.startswith(("import ", "from "))}
    assert imported <= set(sys.stdlib_module_names) and arch_of("gfx942").lanes == 64
