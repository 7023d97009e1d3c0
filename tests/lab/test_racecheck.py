"""What racecheck prints is read, and the kernels that it is asked about are those that the machine finds in order or not."""

import json
import re

import pytest
from places import DATA
from tiers import sweep_but

from cuda_kernels.conformance.gemms.sass import disassemble
from cuda_kernels.lab import rings
from cuda_kernels.lab.racecheck import PRODUCTS, Access, compiled, found_by_machine, parse, with_opcodes
from simlayout.errors import DeviceError

TOLD = """========= COMPUTE-SANITIZER
made 0123456789abcdef
========= Error: Race reported between Read access at ring[abi:v333,x](unsigned long long, int)+{0:#x} in /tmp/rings.py:9
=========     and Write access at ring[abi:v333,x](unsigned long long, int)+{1:#x} in /tmp/rings.py:8 [896 hazards]
=========     and Write access at ring[abi:v333,x](unsigned long long, int)+0x8 [1 hazard]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""


@pytest.mark.parametrize("name", (*rings.RINGS, *rings.TWINS))
def test_the_machine_finds_hazards_in_the_twins_alone(name):
    assert bool(found_by_machine(name)[0]) == (name in rings.TWINS)


@pytest.mark.parametrize("name", sweep_but(["scales of 1x128, cluster_m=2"], PRODUCTS))
def test_the_products_that_racecheck_is_asked_about_are_in_order(name):
    assert found_by_machine(name)[0] == []


def test_a_report_becomes_races_with_the_opcodes_of_the_machine_code():
    _, code = compiled("ring", 0)
    read, copy = (next(i.offset for i in disassemble(code) if i.opcode.startswith(kind) and i.guard != "@!PT")
                  for kind in ("LDS", "LDGSTS"))
    (race,) = with_opcodes(parse(TOLD.format(read, copy)), code)
    assert (race.level, race.first) == ("Error", Access("Read", read, "LDS"))
    assert race.others == (Access("Write", copy, "LDGSTS.E", 896), Access("Write", 8, "", 1))


def test_nothing_is_no_race_and_what_came_to_no_summary_is_an_error():
    assert parse("========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)") == ()
    with pytest.raises(DeviceError, match="came to no summary: .*Device not supported"):
        parse("========= COMPUTE-SANITIZER\n========= Error: Device not supported")


def of_json():
    """{case: hazards} of the record of all cases."""
    rows = json.loads((DATA / "h100_races.json").read_text())["rows"]
    return {row["case"]: sum(other["hazards"] for race in row["races"] for other in race["others"]) for row in rows}


def of_text():
    """The same of what another version printed until it was stopped."""
    text = (DATA / "h100_races_2026.txt").read_text()
    told = re.findall(r"^(.*): the machine: no hazard; racecheck: \w+ races\n((?:  .*\n)*)", text, re.M)
    return {case: sum(map(int, re.findall(r"\((\d+) hazards\)", races))) for case, races in told}


@pytest.mark.parametrize("recorded", (of_json, of_text))
def test_racecheck_misses_the_order_that_a_warps_barrier_makes_before_one_lane_arrives(recorded):
    """A warp's lanes read a stage, and behind bar.warp.sync one of them tells that it is free: the reads of the 31 others
    are reported, of each byte at each time that the stage is filled again; where each lane tells for itself, none."""
    hazards = recorded()
    for name, way in rings.RINGS.items():
        if name in hazards and isinstance(way, rings.Ring):
            assert hazards[name] == (0 if way.every_lane else 31 * 4 * (rings.STEPS - rings.STAGES)), name
    assert {"ring", "ring of stores", "ring, every lane frees", *PRODUCTS} <= hazards.keys()
    assert all("1x128" in name or "promote" in name for name in PRODUCTS if hazards[name])


def test_racecheck_and_the_machine_both_find_the_races_of_every_twin():
    rows = {row["case"]: row for row in json.loads((DATA / "h100_races.json").read_text())["rows"]}
    assert rows.keys() == {*PRODUCTS, *rings.RINGS, *rings.TWINS}
    assert all(row["right"] or name in rings.TWINS for name, row in rows.items())
    assert all(bool(row["machine"]) == (name in rings.TWINS) for name, row in rows.items())
    assert all(rows[name]["races"] for name in rings.TWINS)
