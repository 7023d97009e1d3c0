"""AMD's LDS: published phases and counts, and the model against a slow twin that knows the rules as sentences alone."""

import numpy as np
import pytest
from by_rank import wavefronts_by_rank
from hypothesis import given, settings
from hypothesis import strategies as st
from lds_twin import slow
from tiers import given_few

import simlayout as sl
from simlayout.errors import AddressError, InstructionError, LayoutError
from simlayout.hardware import ARCHES, analyze, arch_of, instruction
from simlayout.hardware.banks.phases import phases
from simlayout.hardware.tables.instructions import instructions_of

CHIPS = [name for name, chip in ARCHES.items() if chip.vendor.name == "AMD"]
ROWS = [(chip, name) for chip in CHIPS for name in instructions_of(chip)]
LANE = np.arange(64)


# ---- the slow twin: lists of lanes as they were published, one lane and one dword at a time ------------------------------

def runs(*texts):
    """"0-3 20-23" -> [0, 1, 2, 3, 20, ...]."""
    return [[lane for run in text.split() for lane in range(int(run.split("-")[0]), int(run.split("-")[1]) + 1)]
            for text in texts]


PIECES = {4: "0-3", 8: "0-7", 16: "0-15", 32: "0-31", 64: "0-63"}


def straight(lanes, size):
    return [list(range(start, start + size)) for start in range(0, lanes, size)]


FOUR_EIGHTS = ["0-3 20-23", "4-7 16-19", "8-11 28-31", "12-15 24-27"]
CROSSED = runs(*FOUR_EIGHTS, "32-35 52-55", "36-39 48-51", "40-43 60-63", "44-47 56-59")
"""ds_read_b128 of MI300X (amd-shark-ai, cdna3info.md)."""

SIXTEENS = runs("0-3 12-15 20-27", "32-35 44-47 52-59", "4-11 16-19 28-31", "36-43 48-51 60-63")
"""ds_read_b128 of MI350X (amd-shark-ai, cdna4info.md)."""

CDNA = {("read", 4): (straight(64, 32), 32), ("read", 8): (straight(64, 16), 32), ("read", 16): (CROSSED, 32),
        ("write", 4): (straight(64, 32), 32), ("write", 8): (straight(64, 16), 32), ("write", 16): (straight(64, 8), 32)}
RDNA = {("read", 4): (straight(32, 32), 32), ("read", 8): (straight(32, 16), 32), ("read", 16): (straight(32, 8), 32),
        ("write", 4): (straight(32, 32), 32), ("write", 8): (straight(32, 16), 32), ("write", 16): (straight(32, 8), 32)}
PUBLISHED = {
    "gfx90a": CDNA, "gfx942": CDNA, "gfx1201": {**RDNA, ("read", 12): RDNA["read", 16]},
    "gfx1100": {**RDNA, ("read", 16): (runs(*FOUR_EIGHTS), 32)},
    "gfx950": {**CDNA, ("read", 8): (straight(64, 32), 64), ("read", 16): (SIXTEENS, 64), ("read", 12): (CROSSED, 32)},
}
ONE_PHASE = straight(64, 64), 64
"""What the clock said of 32-bit reads on an MI350X; AMD's predictor has two phases of 32 banks."""


def width(row):
    """Bytes that a lane moves, as the name has it: of b96, whose addresses are multiples of 16, 12."""
    return int(row.name.split("_")[2][1:]) // 8


def mask(row, active):
    """The lanes that are active; all of them where lanes exchange."""
    return np.ones_like(active) if row.exchanges else active


def rules_of(chip, row):
    """The rules that sources give for a row: one, or two where they disagree."""
    own = PUBLISHED[chip]["read" if row.kind == "load" else "write", max(width(row), 4)]
    return [own, ONE_PHASE] if chip == "gfx950" and row.kind == "load" and row.bytes <= 4 else [own]


@st.composite
def patterns(draw, row):
    """(addresses, active): random, in strides, crowded, shared by neighbours, or the rows of a tile; some lanes idle."""
    lanes = np.arange(row.lanes)
    span = draw(st.sampled_from((1, 2, 8, 32, 64, 256, 1024)))
    kind = draw(st.sampled_from(("any", "stride", "xor", "tile")))
    if kind == "any":
        units = np.array(draw(st.lists(st.integers(0, span - 1), min_size=row.lanes, max_size=row.lanes)))
    elif kind == "stride":
        units = lanes * draw(st.sampled_from((0, 1, 2, 3, 4, 5, 8, 16))) + draw(st.integers(0, 7))
    elif kind == "xor":
        units = np.zeros_like(lanes)
        for bit in range(row.lanes.bit_length() - 1):
            units ^= draw(st.integers(0, 255)) * (lanes >> bit & 1)
    else:
        high, pitch = draw(st.sampled_from((4, 8, 16, 32))), draw(st.sampled_from((4, 5, 8, 9, 16, 17)))
        units = lanes % high * pitch + (lanes // high ^ lanes % draw(st.sampled_from((1, 2, 4, 8))))
    units = units[lanes & ~draw(st.sampled_from((0, 0, 1, 3, 16)))]
    active = np.ones(row.lanes, bool)
    if draw(st.booleans()):
        active = np.array(draw(st.lists(st.booleans(), min_size=row.lanes, max_size=row.lanes)))
    return (row.bytes * units).tolist(), mask(row, active).tolist()


@pytest.mark.parametrize(("chip", "name"), ROWS)
@given_few(8, 5_000, data=st.data())
def test_every_rule_equals_its_slow_twin(chip, name, data):
    row = instruction(name, chip)
    addresses, active = data.draw(patterns(row))
    agrees(chip, row, [addresses], [active])


def agrees(chip, row, addresses, active):
    """Compares n accesses with the slow twin; addresses, active: [n][lanes]."""
    result = analyze(row.name, addresses, active, arch=chip)
    for i, access in enumerate(zip(addresses, active, strict=True)):
        answers = [slow(groups, banks, width(row), *access) for groups, banks in rules_of(chip, row)]
        worst = max(answers, key=lambda answer: answer[2])
        assert (int(result.wavefronts[i]), int(result.ideal[i]), int(result.conflicts[i])) == worst
        assert (int(result.at_least[i]), int(result.at_most[i])) == (min(a[0] for a in answers), max(a[0] for a in answers))
        assert int(result.excess[i]) == worst[2]
    assert result.exact == (row.rival is None)


@pytest.mark.parametrize(("chip", "name", "cases"), [pytest.param(*row, n, marks=pytest.mark.sweep if n > 100 else ())
                                                    for row in ROWS for n in (50, 10_000)])
def test_cases_by_chance_equal_the_slow_twin(chip, name, cases):
    row, dice = instruction(name, chip), np.random.default_rng(cases)
    lanes = np.arange(row.lanes)
    spans = dice.choice([2, 8, 32, 64, 256, 2048], cases)[:, None]
    units = dice.integers(0, 2048, (cases, row.lanes)) % spans
    strides, columns = dice.integers(0, 33, (cases, 1)), dice.integers(0, 256, (cases, 6))
    units[::3] = (strides * lanes + units[:, :1])[::3]                              # strides; lanes that XOR
    units[1::3] = np.bitwise_xor.reduce(columns[:, :, None] * (lanes >> np.arange(6)[:, None] & 1), axis=1)[1::3]
    active = (dice.random((cases, row.lanes)) < 0.7) | (dice.random((cases, 1)) < 0.5)
    agrees(chip, row, (row.bytes * units).tolist(), mask(row, active).tolist())


@pytest.mark.parametrize(("chip", "name"), ROWS)
@given_few(4, 20_000, data=st.data())
def test_the_phases_add_up_and_the_explanation_tells_them(chip, name, data):
    row = instruction(name, chip)
    addresses, active = data.draw(patterns(row))
    result = analyze(name, addresses, active, arch=chip)
    assert sum(p.wavefronts for p in phases(result)) == int(result.wavefronts[0])
    text = result.explain()
    assert max(map(len, text.splitlines())) <= 100 and "wavefront" not in text and str(result.provenance)[:20] in text
    assert ("by the other rule" in text) == (row.rival is not None)


@pytest.mark.parametrize(("chip", "name"), ROWS)
@given_few(8, 10_000, data=st.data())
def test_lanes_that_xor_are_counted_by_rank(chip, name, data):
    row = instruction(name, chip)
    bits = row.lanes.bit_length() - 1
    columns = [row.bytes * data.draw(st.integers(0, 255)) for _ in range(bits)]
    addresses = np.zeros(row.lanes, int)
    for bit, column in enumerate(columns):
        addresses ^= column * (np.arange(row.lanes) >> bit & 1)
    own = analyze(name, addresses, arch=chip)
    expected = slow(*rules_of(chip, row)[0], width(row), addresses.tolist(), [True] * row.lanes)[0]
    assert wavefronts_by_rank(name, columns, chip) == expected
    assert row.rival or expected == int(own.wavefronts[0])


# ---- provenance, and what is refused -------------------------------------------------------------------------------------

KINDS = {"measured", "measured elsewhere", "documented", "disputed", "assumed"}


@pytest.mark.parametrize(("chip", "name"), ROWS)
def test_every_rule_says_whose_it_is_and_nobody_here_has_measured_it(chip, name):
    told = analyze(name, np.zeros(arch_of(chip).lanes, int), arch=chip).provenance
    assert told.kind in KINDS - {"measured"} and told.cases == 0 and len(told.text) > 30


def test_where_sources_disagree_both_are_told():
    r = analyze("ds_read_b32", [4 * LANE, 128 * LANE, 256 * LANE], arch="gfx950")
    assert r.at_least.tolist() == [1, 32, 64] and r.at_most.tolist() == [2, 64, 64] and r.excess.tolist() == [0, 62, 63]
    assert not r.exact and "sources disagree" in r.caveat and r.provenance.kind == "disputed"
    assert "phase of 64 lanes" in r.explain(1) and "2 phases of 32 lanes" in r.explain(2)
    assert "sources disagree" in str(r) and "64 passes, ideal 2, excess 62" in r.explain(-1)


@pytest.mark.parametrize(("name", "arch", "words"), [
    ("ds_read_b128", "sm_90", "sm_90 has no ds_read_b128, which is an instruction of gfx90a"),
    ("ldmatrix.x4", "gfx942", "gfx942 has no ldmatrix.x4"), ("ld.shared.v4.f32", "gfx942", "an instruction of sm_75"),
    ("ds_read_b33", "gfx942", "did you mean ds_read_b32"), ("ds_read2_b64", "gfx942", "two accesses, one after the other"),
    ("ds_load_2addr_b64", "gfx1100", "two accesses"), ("ds_read_b96", "gfx942", "of gfx950 and gfx1201 alone"),
    ("ds_store_b96", "gfx1100", "nobody has published .*count SQ_LDS_BANK_CONFLICT of every pair"),
    ("ds_add_u32", "gfx942", "atomics in LDS .*SQ_LDS_ADDR_CONFLICT"), ("ds_read_b64_tr_b16", "gfx1201", "gfx950 alone"),
    ("ds_read_b96_tr_b6", "gfx950", "of no transposing read of 12 bytes"), ("ds_load_tr16_b128", "gfx1201", "gfx1250 alone"),
    ("ds_read_tr8_b64", "gfx942", "gfx950 alone"), ("ds_load_b128_tr_b16", "gfx950", "gfx1250 alone"),
    ("ds_read_b32", "gfx906", "unknown architecture 'gfx906'"), ("ds_read_b32", "gfx942a", "unknown architecture"),
    ("ds_bpermute_b32", "gfx942", "reads no LDS"), ("ds_swizzle_b32", "gfx1100", "reads no LDS"),
    ("ds_mskor_b32", "gfx942", "atomics in LDS"), ("ds_append", "gfx90a", "atomics in LDS"),
    ("ds_condxchg32_rtn_b64", "gfx1201", "atomics in LDS"), ("ds_load_addtid_b32", "gfx1100", "give no addresses"),
    ("global_load_lds_dwordx4", "gfx950", "give no addresses"), ("buffer_load_dwordx4", "gfx950", "its bit lds"),
    ("global_load_dwordx4", "gfx942", "global memory has no banks; did you mean ds_read"),
])
def test_what_a_chip_lacks_is_refused_with_what_helps(name, arch, words):
    with pytest.raises(InstructionError, match=words):
        analyze(name, np.zeros(64, int), arch=arch)


@pytest.mark.parametrize(("name", "row"), [
    ("ds_load_b128", "ds_read_b128"), ("ds_store_b64", "ds_write_b64"), ("ds_load_u16_d16_hi", "ds_read_u16"),
    ("ds_read_i8", "ds_read_u8"), ("DS_READ_B32", "ds_read_b32"), ("ds_write_b16_d16_hi", "ds_write_b16"),
    ("ds_store_b8", "ds_write_b8"), ("ds_read_u8_d16", "ds_read_u8"),
])
def test_other_spellings_are_the_same_instruction(name, row):
    assert instruction(name, "gfx1201").name == row


def test_a_target_id_names_its_chip():
    for name in ("gfx942:sramecc+:xnack-", "gfx90a:xnack+", "gfx1100:xnack-"):
        assert arch_of(name) is arch_of(name.split(":")[0])


def test_a_read_of_12_bytes_says_where_its_rule_holds():
    with pytest.raises(AddressError, match="has a rule for a multiple of 16 bytes, .*others, but who conflicts there"):
        analyze("ds_read_b96", 12 * np.arange(64), arch="gfx950")


def test_addresses_are_one_for_each_lane_of_a_wave():
    with pytest.raises(AddressError, match=r"\[n, 64\] or \[64\]"):
        analyze("ds_read_b32", [0] * 32, arch="gfx942")
    with pytest.raises(AddressError, match=r"bool \[n, 64\]"):
        analyze("ds_read_b32", [0] * 64, [True] * 32, arch="gfx942")
    with pytest.raises(AddressError, match="64 KiB of LDS per workgroup"):
        analyze("ds_read_b32", [65536] * 64, arch="gfx942")
    with pytest.raises(AddressError, match="misaligned"):
        analyze("ds_read_b64", [4] * 64, arch="gfx950")
    for row, arch in (instruction("ds_read_b32", "gfx942"), "gfx1100"), (instruction("ds_read_b32", "gfx1100"), "sm_90"):
        with pytest.raises(InstructionError, match=f"of another chip than {arch}"):
            analyze(row, [0] * 32, arch=arch)
    with pytest.raises(InstructionError, match="does not exist on gfx1100"):
        analyze(instruction("ld.shared.b32"), [0] * 32, arch="gfx1100")
    assert analyze("ds_read_b32", [163836] * 64, arch="gfx950").excess.tolist() == [0]


# ---- accesses ------------------------------------------------------------------------------------------------------------

def load_a(tile, **more):
    return sl.Access("load A", "ds_read_b128", tile, lambda tid, k: (tid % 16, 32 * k + 8 * (tid % 64 // 16)),
                     {"tid": 64, "k": 2}, **{"arch": "gfx942", **more})


def test_an_access_knows_its_wave():
    access = load_a("(16,64):(64,1)", excess=24)
    certificate = sl.verify(access)
    assert access.warp == 64 and access.instructions() == 2 and access.analyze().wavefronts.tolist() == [32, 32]
    assert certificate.arch == "gfx942" and "- 2 instructions, 64 passes, ideal 16" in certificate.lines()
    assert "measured elsewhere" in str(certificate) and "excess exactly 24 passes" in str(certificate)
    assert sl.Access("all", "ds_read_b32", "(8,8):(8,1)", lambda tid: (tid // 8, tid % 8), dtype="f32",
                     arch="gfx90a").domain == {"tid": 64}
    assert access.on("gfx950").analyze().excess.tolist() == [12, 12] == access.analyze("gfx950").excess.tolist()
    with pytest.raises(LayoutError, match="waves need a multiple of 64"):
        sl.Access("half", "ds_read_b32", "(8,8):(8,1)", domain={"tid": 32}, dtype="f32", arch="gfx942")
    with pytest.raises(InstructionError, match="gfx942 has no ldmatrix.x4"):
        sl.Access("load", "ldmatrix.x4", "(16,64):(64,1)", arch="gfx942")
    with pytest.raises(sl.VerificationError, match="24 excess passes per ds_read_b128"):
        sl.verify(load_a("(16,64):(64,1)"))


@settings(deadline=None)
@given(st.sampled_from(CHIPS), st.sampled_from(("ds_read_b64", "ds_read_b128", "ds_write_b64", "ds_write_b128")))
def test_a_tile_that_is_written_by_rows_is_free_of_conflicts_on_every_chip(chip, name):
    from simlayout.proofs.natural import natural_access

    assert sl.verify(natural_access(sl.parse("(64,64):(64,1)"), name, "f16", arch=chip)).excess == 0


def test_programs_for_nvidias_chips_are_not_run_as_on_amds():
    from simlayout.machine.engine.launch import _check_shared
    from simlayout.programs.attributes import board_name

    for ask in (lambda: board_name("gfx942"), lambda: _check_shared(0, 0, "gfx942")):
        with pytest.raises(InstructionError, match="gfx942 is a chip of AMD's"):
            ask()
