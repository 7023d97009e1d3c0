"""A kernel's sheet and its stages in time; `simlayout plot` and what it refuses."""

import shlex
from dataclasses import replace

import pytest

import simlayout as sl
from cuda_kernels.kernels import KERNELS, MMA_KERNELS
from simlayout import plots
from simlayout.cli import main
from simlayout.cli.commands import command_line
from simlayout.kernel import Problem
from simlayout.plots import of_kernel, pipeline, plan_sheet, sheet, timeline
from simlayout.plots.pipeline import Span, Timeline
from simlayout.plots.style import text_width

TILE, SWIZZLED = "(16,64):(64,1)", "Sw<3,3,3> o (16,64):(64,1)"


def test_a_sheet_has_the_counts_of_the_plan_and_a_bar_for_each_part_of_them():
    plan = KERNELS["mma_base"].plan
    made, said = plan_sheet(plan, (1000, 1384, 520)), plan.predict(1000, 1384, 520)
    assert made.counts == said.counts and made.wavefronts == sum(c.wavefronts for c in said.counts)
    bars = [(round(p.get_y() + p.get_height() / 2), p.get_x(), p.get_width()) for p in sheet(made).patches]
    ideal = [(i, 0, c.ideal) for i, c in enumerate(said.counts)]
    excess = [(i, c.ideal, c.excess) for i, c in enumerate(said.counts) if c.excess]
    assert sorted(bars) == sorted(ideal + excess)


def test_what_is_written_behind_a_bar_ends_before_the_figure_does():
    for name in MMA_KERNELS:
        ax = sheet(plan_sheet(KERNELS[name].plan))
        written = next(a for a in ax.artists if a.side == "left")
        for x, y, text in written.texts:
            left = (ax.transData.transform((x, y))[0]) / ax.figure.dpi + written.shift[0] / 72
            assert left + text_width(text) <= ax.figure.get_size_inches()[0]


@pytest.mark.parametrize("name, options", [("mma_permuted", {"stages": 2}), ("mma_permuted", {"stages": 3}),
                                           ("mma_crosswise", {})])
def test_every_chunk_is_copied_once_and_then_read_from_its_stage_which_has_no_other_meanwhile(name, options):
    made = of_kernel(KERNELS[name].variant(**options), steps=5)
    assert made.stages == KERNELS[name].variant(**options).plan.stages
    for chunk in range(5):
        kinds = [(s.kind, s.stage) for s in made.spans if s.chunk == chunk and s.kind != "wait"]
        assert kinds == [("copy", chunk % made.stages), ("read", chunk % made.stages)]
    for stage in range(made.stages):
        mine = [s for s in made.spans if s.stage == stage]
        assert all(a.end <= b.start for a, b in zip(mine, mine[1:]))


def test_the_clocks_of_a_timeline_are_those_that_the_plan_predicts():
    kernel = KERNELS["mma_permuted"].variant(stages=2)
    rows, columns, depth = kernel.plan.tile
    said = kernel.plan.predict(rows, columns, 3 * depth)
    once = sum(said.count(access.name).wavefronts for access in kernel.plan.each_tile)
    assert of_kernel(kernel, steps=3).clocks == 3 * said.shared_clocks + once


def test_a_sheet_shows_what_the_sources_of_copies_cost():
    made = plan_sheet(KERNELS["mma_permuted"].fitted(Problem(4096, 4096, 4096)).plan)
    written = [text for a in sheet(made).artists for *_, text in a.texts]
    assert "35%: 25.2 M, 16.8 M of them excess" in written
    assert [text.partition(":")[0] for text in written if "%:" in text] == ["35%", "18%", "23%", "23%", "<1%", "<1%"]


def test_a_kernel_without_stages_and_a_run_without_copies_are_refused(monkeypatch):
    kernel, bare = KERNELS["mma_base"], replace(KERNELS["mma_base"].plan, each_step=())
    monkeypatch.setattr(type(kernel), "plan", property(lambda self: bare))
    with pytest.raises(sl.SimlayoutError, match="mma_base has no stages"):
        of_kernel(kernel)
    with pytest.raises(sl.SimlayoutError, match="was executed"):
        timeline([], {"copy": {0: 0}}, {})


def test_a_timeline_is_drawn_span_by_span():
    spans = (Span(0, "copy", 0, 0, 10), Span(0, "wait", 0, 10, 20), Span(0, "read", 0, 20, 40), Span(1, "copy", 1, 10, 20))
    ax = pipeline(Timeline("t", 2, 40, spans))
    corners = [tuple(p.vertices[0]) for p in ax.collections[0].get_paths()]
    assert corners == [(s.start, s.stage - 0.4) for s in spans]
    assert [text for *_, text in ax.artists[0].texts] == ["0", "0", "1"]


# ---- the command --------------------------------------------------------------------------------------------------------

KINDS = [
    ([TILE], "32 wavefronts, ideal 4"),
    ([TILE, "--kind", "compare", "--with", SWIZZLED], "32 wavefronts, ideal 4; then 4 wavefronts, ideal 4"),
    ([SWIZZLED, "--kind", "layout", "--by", "bank"], "1024 elements of f16"),
    ([TILE, "--kind", "phases", "--index", "1"], "32 wavefronts, ideal 4"),
    (["m16n8k16.f32.f16.f16.f32", "--kind", "fragment", "--operand", "B"], "16 x 8 f16, 4 per thread"),
    (["ldmatrix.x4", "--kind", "fragment"], "32 x 8 b16, 8 per thread"),
    (["tcgen05.ld.16x256b.x1", "--kind", "fragment"], "16 x 8 b32, 4 per thread"),
    (["SWIZZLE_64B", "--kind", "tma"], "1024 bytes"), (["all", "--kind", "tma"], "four modes"),
    (["m64n128.ws", "--kind", "tmem"], "64 x 128 in 64 columns"), (["scales", "--kind", "tmem"], "a block of 128 x 4"),
    (["all", "--kind", "tmem"], "where D lies, by M"),
    ([SWIZZLED, "--kind", "f2"], "10 x 10 bits, rank 10"), (["F2<1,2,5>", "--kind", "f2"], "3 x 3 bits, rank 3"),
    ([SWIZZLED, "--kind", "copy", "--op", "st.shared.b128", "--index", "0", "1"], "8 wavefronts"),
    (["mma_base", "--kind", "plan", "-M", "256", "-N", "128", "-K", "32"], "6848 wavefronts"),
    (["mma_permuted", "--kind", "pipeline", "--stages", "2", "--steps", "2"], "2 stages, 1408 clocks, and 1024 more for C"),
]


def test_every_kind_of_figure_is_drawn_here_and_has_an_example_that_the_command_takes():
    drawn = [command_line().parse_args(["plot", *arguments, "-o", "a.svg"]).kind for arguments, _ in KINDS]
    assert list(dict.fromkeys(drawn)) == list(plots.KINDS)
    for name, kind in plots.KINDS.items():
        assert kind.name == name and kind.examples
        for example in kind.examples:
            assert command_line().parse_args(["plot", *shlex.split(example)]).kind == name


@pytest.mark.parametrize("arguments, said", KINDS)
def test_plot_draws_every_kind(capsys, tmp_path, arguments, said):
    file = tmp_path / "a.svg"
    assert main(["plot", *arguments, "-o", str(file)]) == 0
    assert capsys.readouterr().out == f"wrote {file}: {said}\n"
    assert file.read_bytes()[:5] == b"<?xml"


REFUSED = [
    ([TILE, "--kind", "compare"], "--with LAYOUT"), ([TILE, "--with", SWIZZLED], "--kind compare"),
    ([TILE, "--kind", "spiral"], "invalid choice"), ([TILE, "--index", "0", "1"], "one instruction"),
    ([TILE, "--kind", "copy", "--index", "0", "9"], "0 to 3"), (["(2,2,2)", "--kind", "layout"], "3 modes"),
    (["(6,6):(6,1)", "--kind", "f2"], "powers of two"), (["Sw<3,3,3>", "--kind", "f2"], "compose it"),
    (["m16n8k15", "--kind", "fragment"], "no fragment known"), (["SWIZZLE_256B", "--kind", "tma"], "no swizzle mode"),
    (["m16n8k16.f32.f16.f16.f32", "--kind", "fragment", "--operand", "E"], "no operand 'E'"),
    (["nothing", "--kind", "plan"], "nothing"), (["wgmma_tma", "--kind", "pipeline", "--stages", "2"], "stages"),
    (["mma_permuted", "--kind", "pipeline", "--steps", "0"], "1 to 64"),
    ([TILE, "--kind", "layout", "--by", "x"], "invalid"), (["mma_permuted", "--kind", "plan", "--stages", "9"], "stages"),
    (["(128,128):(1,129)", "--kind", "layout"], "draw a part"), (["m12n8", "--kind", "tmem"], "has no M 12"),
    (["m128", "--kind", "tmem"], "no accumulator 'm128'"),
    ([TILE, "--stages", "3"], "--stages is of --kind plan, pipeline, not of banks"),
    ([TILE, "--kind", "layout", "--op", "ld.shared.b32"], "--op is of --kind banks, compare, phases, copy"),
    ([TILE, "--kind", "layout", "--arch", "gfx942"], "not of layout"), ([TILE, "-M", "3"], "-M is of --kind plan"),
    (["SWIZZLE_32B", "--kind", "tma", "--dtype", "f32"], "--dtype is of"), ([TILE, "--operand", "B"], "of --kind fragment"),
    ([TILE, "--with", TILE], "--with is of --kind compare"),
    ([TILE, "--by", "bank"], "--by is of --kind layout, not of banks: leave it out, or give --kind layout\n"),
    (["mma_base"], "mma_base is a kernel, and --kind banks draws a layout: give --kind plan or pipeline"),
    (["wgmma.m64n256k16.f32.f16.f16"], "give --kind fragment"), (["m64n256"], "give --kind tmem"),
    (["m16n8k16.f32.f16.f16.f32", "--kind", "layout"], "draws a layout: give --kind fragment"),
]


@pytest.mark.parametrize("arguments, fault", REFUSED)
def test_what_cannot_be_drawn_is_one_line_and_no_file(capsys, tmp_path, arguments, fault):
    assert main(["plot", *arguments, "-o", str(tmp_path / "a.svg")]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and fault in err
    assert not list(tmp_path.iterdir())
