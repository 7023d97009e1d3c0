"""What `simlayout bench` keeps and draws: configurations, records, the ladder of steps, pictures equal to their record."""

import json
import sys
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from places import DATA, ROOT

from cuda_kernels import KERNELS
from cuda_kernels.bench import pictures, record, steps
from cuda_kernels.bench.record import Product, Record, Row, parse_config
from cuda_kernels.bench.sets import SETS
from cuda_kernels.kernels.hopper.config import HOPPER, Hopper
from cuda_kernels.kernels.hopper.kernel import kernel_of
from simlayout.errors import ParseError, SimlayoutError

MATMULS = record.read(DATA / "h200_matmul.json")


# ---- steps -----------------------------------------------------------------------------------------------------------

def test_every_step_changes_one_option_and_what_else_changes_is_forced():
    config = Hopper(**steps.FIRST)
    assert [made for _, made in steps.ladder()[:2]] == [KERNELS["warptile"], kernel_of(config)]
    for step, kernel in steps.ladder()[2:]:
        made = kernel and kernel.options
        assert bool(step.why) == (made is None) == (not step.change)
        if made is None:
            continue
        assert len(step.change) == 1
        if step.forced:
            with pytest.raises(SimlayoutError):
                replace(config, **step.change)
        different = {name for name, value in asdict(made).items() if value != asdict(config)[name]}
        assert different == {*step.change, *step.forced}
        config = made


def test_the_ladder_goes_by_way_of_the_specialised_kernel():
    configs = [replace(config, dtype="f16", out="f16") for config in
               (kernel.options for _, kernel in steps.ladder()[1:] if kernel)]
    assert HOPPER["wgmma_specialized"] in configs
    assert replace(HOPPER["wgmma_persistent"], split=True) == configs[-1]


def test_published_numbers_have_a_source_and_become_shares_of_the_published_cublas():
    for step in steps.STEPS:
        assert (step.published is None) == (step.source == "") and step.source.startswith(("", "https://"))
        if step.published:
            assert step.published_share == step.published / 716


# ---- records ---------------------------------------------------------------------------------------------------------

@given(st.builds(Hopper, tile_m=st.sampled_from([64, 128]), tile_n=st.sampled_from([64, 128]), stages=st.integers(2, 4),
                 group=st.integers(1, 16), split=st.booleans(), a_major=st.sampled_from(["K", "MN"])))
def test_a_configuration_is_read_from_its_text_as_from_its_fields(config):
    assert parse_config(repr(config)) == record.config_dict(kernel_of(config)) == asdict(config)


@pytest.mark.parametrize("text", ["Hopper(tile_m=open('x'))", "Hopper(64)", "__import__('os')", "1 +", "Hopper(**{})", ""])
def test_a_text_that_is_no_configuration_is_refused_and_not_evaluated(text):
    with pytest.raises(ParseError, match="no configuration"):
        parse_config(text)


def test_a_kernels_configuration_names_it_and_its_options():
    assert record.config_dict(KERNELS["mma_base"])["kernel"] == "mma_base"
    assert record.config_dict(KERNELS["mma_base"].variant(stages=2))["stages"] == 2
    assert record.config_dict(None) is None


times = st.floats(0.1, 1e5).map(lambda t: round(t, 2))
rows = st.builds(Row, st.sampled_from(list(SETS)), st.text(max_size=8),
                 st.builds(Product, *3 * [st.integers(1, 99999)], st.sampled_from(["f16", "bf16"]),
                           st.sampled_from(["NN", "NT", "TN", "TT"])),
                 st.none() | st.just(asdict(Hopper())), times, times, st.floats(0.1, 2).map(lambda s: round(s, 4)))


@given(st.lists(rows, min_size=1, max_size=4), st.dictionaries(st.text(max_size=4).filter(lambda k: k != "rows"),
                                                               st.integers() | st.text(), min_size=1))
def test_what_is_written_is_read_back(tmp_path_factory, made, head):
    path = tmp_path_factory.mktemp("record") / "a.json"
    record.write(path, Record(head, tuple(made)))
    assert record.read(path) == Record(head, tuple(made))


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"rows": 3}', '{"rows": [{"us": 1}]}', '{"rows": [3]}',
                                  '{"rows": [{"shape": [1, 2, 3], "config": "os", "us": 1, "cublas us": 1, "share": 1}]}',
                                  '{"rows": [{"shape": [1, 2, 3], "config": null, "us": 0, "cublas us": 1, "share": 1}]}'])
def test_a_file_that_is_no_record_is_refused(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(ParseError, match=r"a\.json is no record of `simlayout bench`|no configuration"):
        record.read(tmp_path / "a.json")


def test_the_older_record_of_kernels_is_read_with_its_numbers():
    old = json.loads((DATA / "h200_bench.json").read_text())
    if not isinstance(old["rows"], dict):
        pytest.skip("the record has been measured again in today's format")
    found = {(row.label, row.problem.M): row for row in record.read(DATA / "h200_bench.json").rows}
    for label, sizes in old["rows"].items():
        for size, numbers in sizes.items():
            row = found[label, int(size)]
            assert (row.tflops, row.cublas_tflops) == pytest.approx((numbers["tflops"], numbers["cublas_tflops"]))
            assert row.share == numbers["share"]


@pytest.mark.parametrize("config, waves", [
    ({}, 40 * 12 / 132), ({"tile_n": 128, "stages": 5}, 40 * 24 / 132), ({"cluster_m": 2}, 20 * 12 / 66),
    ({"tile_m": 64, "tile_n": 64}, 79 * 47 / 132), ({"c_major": "M"}, 24 * 20 / 132)], ids=str)
def test_waves_are_the_tiles_over_the_ctas_that_the_gpu_holds(config, waves):
    row = Row("random", "matmul", Product(5000, 3000, 64), asdict(Hopper(**config)), 1.0, 1.0, 1.0)
    assert row.waves(132) == pytest.approx(waves)
    assert replace(row, config=None).waves() is None and replace(row, config={"kernel": "mma_base"}).waves() is None


# ---- pictures --------------------------------------------------------------------------------------------------------

def test_dots_are_the_records_rows():
    dots, waves = pictures.by_size(MATMULS), pictures.by_waves(MATMULS)
    assert [(d.share, d.series) for d in dots] == [(row.share, row.set) for row in MATMULS.rows]
    assert [d.x for d in dots if d.series == "squares"] == pytest.approx([row.problem.M for row in MATMULS.of("squares")])
    assert [d.x for d in waves] == [row.waves(132) for row in MATMULS.rows]


def test_bars_of_steps_have_the_published_share_at_the_published_size_alone():
    made = tuple(Row("steps", step.name, Product(n, n, n, "bf16"), None, 1.0, 1.0, 0.5 + n / 1e5)
                 for n in (4096, 8192) for step, config in steps.ladder() if config)
    here, larger = (pictures.of_steps(Record({}, made), n) for n in (4096, 8192))
    assert [bar.label for bar in here] == [step.name for step in steps.STEPS] == [bar.label for bar in larger]
    assert [bar.published for bar in here] == [step.published_share for step in steps.STEPS]
    assert {bar.published for bar in larger} == {None}
    assert [bar.share is None for bar in here] == [bool(step.why) for step in steps.STEPS]


def test_an_overview_has_a_picture_for_everything_that_was_measured():
    kernels = tuple(Row("kernels", label, Product(n, n, n), None, 1.0, 1.0, 0.5) for n in (64, 128) for label in "ab")
    figure = pictures.overview(Record({}, kernels + MATMULS.rows))
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert len(titles) == 4 and titles[2:] == ["kernels at 64 x 64 x 64", "kernels at 128 x 128 x 128"]
    with pytest.raises(SimlayoutError, match="no rows to draw"):
        pictures.overview(Record({}, ()))


def test_the_readmes_table_of_steps_has_the_published_number_beside_ours(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "figures"))
    import table

    sys.modules.pop("table", None)
    made = [Row("steps", step.name, Product(4096, 4096, 4096, "bf16"), None, 200.0, 190.0, 0.95)
            for step, config in steps.ladder() if config]
    record.write(tmp_path / "h200_steps.json", Record({"device": "a GPU"}, tuple(made)))
    monkeypatch.setattr(table, "DATA", tmp_path)
    rows = list(table.steps())
    assert rows[1] == ["wgmma and TMA, tile 64x64", "317", "0.44", "687", "0.95"]
    assert ["tiles along a Hilbert curve", "764", "1.07", "ours stay in groups of 8 rows", ""] in rows
    assert len(rows) == len(steps.STEPS)
