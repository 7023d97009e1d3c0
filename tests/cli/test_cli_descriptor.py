"""`simlayout descriptor`: fields in words, what they make of a tile, and mistakes."""

import pytest
from commands import answered, refused

from simlayout.cli import main


def test_every_field_is_told_in_words(capsys):
    assert main(["descriptor", "0x4000404000010000"]) == 0
    told = capsys.readouterr().out
    for part in ("of tcgen05 (sm_100)", "SWIZZLE_128B (bits 61-63)", "Sw<3,3,3> o ((8,16),(8,2)):((64,512),(1,8))",
                 "documented: PTX ISA"):
        assert part in told


def test_a_wrong_tile_exits_with_one_and_names_the_mistake(capsys):
    assert main(["descriptor", "0x4000400100400000", "--rows", "128", "--depth", "64"]) == 1
    assert "LBO and SBO are exchanged: LBO 16 and SBO 1024" in capsys.readouterr().out
    assert main(["descriptor", "0x4000004000010040", "--arch", "sm_100"]) == 1
    assert "no: bits 46-48 are 0, not 1" in capsys.readouterr().out


def test_json_has_the_fields_and_the_readings(capsys):
    found = answered(capsys, "descriptor", "0x4000004000010044", "--rows", "64", "--depth", "64", "--major", "K")
    assert found["reader"] == "wgmma" and found["legal"] and found["verdict"].startswith("step 2 along K")
    assert {f["name"]: f["value"] for f in found["fields"]} == {
        "start": 0x440, "LBO": 16, "SBO": 1024, "constant": 0, "base offset": 0, "swizzle": 1}
    assert [r["layout"] for r in found["readings"]] == ["Sw<3,3,3> o 32 o ((8,8),(8,2)):((64,512),(1,8))"]


@pytest.mark.parametrize("bits", ["0x1ffffffffffffffff", "4000zz", "-1", "0x", "99999999999999999999"])
def test_what_is_no_word_is_refused(capsys, bits):
    assert "0x4000404000010000" in refused(capsys, "descriptor", "--", bits)


def test_an_instruction_descriptor_is_told_for_every_kind_that_has_it(capsys):
    assert main(["descriptor", "0x08400010"]) == 0
    told = capsys.readouterr().out
    assert "D 128 x 256 of f32 = A of f16 x B of f16, K 16" in told and "A of e4m3 x B of e4m3, K 32" in told
    found = answered(capsys, "descriptor", "0x90400480", "--mma-kind", "mxf4nvf4")
    assert [(k["k"], k["scale"], k["m"]) for k in found["kinds"]] == [(96, "ue4m3", 256)]


def test_what_is_no_instruction_descriptor_is_refused(capsys):
    assert "--mma-kind f16 says" in refused(capsys, "descriptor", "0x08400050")
    assert "reserved bits 0x40 are set" in refused(capsys, "descriptor", "0x08400050", "--mma-kind", "f16")
