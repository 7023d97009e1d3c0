"""Numbers in the prose of the README and the guide are those of the records. Tables are in test_readme."""

import json
from statistics import geometric_mean, median

import pytest
from places import DATA, ROOT
from prose import read, says

from cuda_kernels.bench import default_variants, record
from cuda_kernels.bench import steps as ladder
from cuda_kernels.lab import stalls
from cuda_kernels.matmul.choose.figures import H200
from cuda_kernels.matmul.choose.rates import RATES


@pytest.mark.parametrize("page", ["README", "accuracy"])
def test_the_recorded_cases_of_one_instruction(page):
    files = json.loads((ROOT / "simlayout/hardware/tables/measured/h200.json").read_text())
    cases = [of for file in files for of in file["cases"].values()]
    assert not any(wrong for _, wrong in cases)
    says(page, f"{sum(number for number, _ in cases):,} recorded cases")


def test_what_was_counted_of_whole_kernels():
    says("accuracy", f"{len(dict(default_variants()))} kernel variants")
    exercises = read("h200_exercises.json")["variants"]
    counts = sum(1 + sum(len(access["known"]) for access in one["accesses"]) for one in exercises)      # 1: of no access
    says("ladder", f"all {len(exercises)} cases of these and of warptile, {counts:,} counts")


def test_products_that_reach_cublas():
    found = record.read(DATA / "h200_matmul.json")
    named, random = [], []
    for name in ("squares", "layers", "few", "transposes", "random"):
        rows = [row for row in found.of(name) if row.label == "matmul"]
        (random if name == "random" else named).extend(rows)
    least = min(named, key=lambda row: row.share)
    p = least.problem
    says("matmul", f"Of the {len(named)} named products {sum(row.share >= 1 for row in named)} reach cuBLAS",
         f"the least is {p.M} x {p.N} x {p.K} ({least.share:.3f})",
         f"Of the {len(random)} random ones {sum(row.share >= 1 for row in random)} do",
         *(f"{row.problem.M} x {row.problem.N} x {row.problem.K} ({row.share:.3f})" for row in random if row.share < 0.99))


def test_what_promotion_in_l2_is_worth():
    def ratios(run, promotion, on_lines):
        """What it takes over what no promotion takes, at products whose rows start on lines of 128 bytes or do not."""
        at = run["promotions"].index(promotion)
        return [us[at] / us[0] for (*_, K, _), _, _, us in run["rows"] if (K % 64 == 0) == on_lines]

    runs = read("promotion.json")["runs"]
    off = [ratios(run, 128, False) for run in runs]
    less = [f"{100 - 100 * geometric_mean(found):.1f} %" for found in off]
    far = [x for run in runs for on_lines in (False, True) for x in ratios(run, 256, on_lines)]
    assert max(map(max, off)) < 1.0015 and {len(found) for found in off} == {22}
    assert all(abs(geometric_mean(ratios(run, 128, True)) - 1) < 0.0015 for run in runs)
    says("notes", f"for DRAM took {less[0]} less on an H100 and {less[1]} on an H200, and 6 whose rows",
         f"256 bytes took {min(far):.2f} to {max(far):.2f} of the time without")


def test_what_power_does_to_products_in_a_row():
    rows = read("h200_power.json")["rows"]
    capped = [ways for (*_, K, _, _), ways in rows if K != 8064]
    assert len(rows) == 11 and len(capped) == 10 and max(watts for *_, watts, _ in rows[4][1]) < 700 < rows[4][1][0][3]
    watts, clocks = zip(*(one[2:] for ways in capped for one in ways))
    says("notes", f"drawn {min(watts):.0f} to {max(watts):.0f} W", f"{min(clocks) / 1e3:.2f} to {max(clocks) / 1e3:.2f} GHz")


def test_what_cublas_requests_of_l2_with_the_same_tile():
    rows = read("h200_beside_cublas.json.xz")["rows"]
    same = [(mine[0] / theirs[0], mine[1] / theirs[1]) for *_, theirs, _, mine in rows
            if abs(mine[3] / theirs[3] - 1) < 1e-3]
    faster = [names[0] for _, names, theirs, _, mine in rows if theirs[0] < 0.95 * mine[0]]
    times, requests = zip(*same)
    assert len(same) == 10
    says("notes", f"{min(times):.2f} to {max(times):.2f} of its time", f"{min(requests):.2f} to {max(requests):.2f} times",
         f"geometric means {geometric_mean(times):.2f} and {geometric_mean(requests):.2f}",
         f"Of the {len(faster)} of {len(rows)} for which", f"{sum('288' in name for name in faster)} have tiles")


def test_how_much_of_rows_that_start_off_lines_neighbours_share():
    shared = [f"{factor:.2f}" for factor in (RATES.merged_factor_64, RATES.merged_factor_32, RATES.merged_factor_16)]
    says("notes", "neighbours share {}, {} and {} of what".format(*shared))


def test_what_dealing_tiles_by_gpc_is_worth():
    tried = [ways for *_, ways in read("h200_dealt.json.xz")["rows"]]
    ratios = [us / late for late_of, us_of, _ in tried for late, us in zip(late_of, us_of)]
    best = geometric_mean(min(dealt) / min(plain) for plain, dealt, _ in tried)
    assert len(tried) == 9
    says("notes", f"nine configurations took {geometric_mean(ratios):.3f} of the time",
         f"({min(ratios):.2f} to {max(ratios):.2f})", f"orders of tiles {best:.3f} (geometric means")


def test_how_long_a_kernel_has_the_clock_of_the_one_before():
    found, falls = {}, []
    for before, what, series in read("h200_clock.json.xz")["rows"]:
        if before == "idle":
            found[what] = median(series[1:8]), median(series[-15:])
            fall = next(i for i, us in enumerate(series) if i and us > 1.02 * found[what][0])
            falls.append(30 * sum(series[:fall]) / 1e3)
    says("notes", f"the full clock for {min(falls):.0f} to {max(falls):.0f} ms",
         "in {:.1f} microseconds from rest and in {:.1f} after".format(*found["128x176 2x4"]),
         "cuBLAS in {:.1f} and {:.1f}.".format(*found["cublas"]))


def test_what_ctas_that_get_sms_as_they_come_free_cost():
    late, early = next(row[2][1:3] for row in read("h100_overlap.json")["rows"] if row[0][:3] == [577, 1024, 4096])
    says("notes", f"577 x 1024 x 4096 took {early:.1f} microseconds on an H100 so, and {late:.1f} where its CTAs came when")
    waits, early = ([row[2][i] for row in read("h100_overlap_by_size.json")["rows"] if row[0][:3] == [1560, 272, 1656]][:2]
                    for i in (0, 2))
    says("matmul", "1560 x 272 x 1656 takes {:.1f} microseconds on 104 SMs and {:.1f} on 84 if each waits".format(*waits),
         "{:.1f} and {:.1f} if the next begins early".format(*early))
    rows = [read(f"{gpu}_overlap.json")["rows"] for gpu in ("h200", "h100")]
    saved = [median(late - early for _, config, (_, late, early, _), *_ in of if config.get("early")) for of in rows]
    says("matmul", "that saves {:.1f} to {:.1f} microseconds more".format(*saved))


def test_what_a_call_costs_the_host():
    host, *others = read("hosts.json")["runs"]
    us = {row["call"]: f"{row['us']:.1f}" for row in host["rows"]}
    launch, prepared, out, _, torch, _ = ([f"{run['rows'][i]['us']:.1f}" for run in others] for i in range(6))
    says("matmul", f"costs the host {us['matmul']} microseconds (torch.matmul: {us['torch.matmul']})",
         f"{us['matmul with out']} with `out` (torch: {us['torch.matmul with out']}), and {us['prepared']} if it was",
         f"{host['first call s']:.1f} s, or {host['cached s']:.2f} s",
         f"the launch alone takes {' and '.join(launch)}, a prepared call {' and '.join(prepared)}, one with `out` "
         f"{' and '.join(out)} (torch: {' and '.join(torch)})")


def test_the_ladders_shares_and_waits():
    share = {row.label.split(":")[0].split()[1]: row.share for row in record.read(DATA / "h200_ladder.json").of("ladder")}
    waits = {row[0]: row[stalls.HEAD.index("waits for: global memory")].replace("%", " %")
             for row in stalls.cells(read("h200_stalls.json"))}
    says("ladder", f"{share['mma_async']:.2f} and {share['mma_permuted']:.2f} of cuBLAS",
         f"{waits['mma_padded']} and {waits['mma_permuted']} of their time, with three in {waits['mma_async_stage3']}")


def test_cublas_beside_the_steps():
    rows = [row for row in record.read(DATA / "h200_steps.json").of("steps") if row.problem.M == ladder.SIZE]
    flops = 2 * ladder.SIZE**3
    made = median(flops / row.cublas_us * 1e-6 for row in rows)
    says("ladder", f"cuBLAS made {ladder.PUBLISHED_CUBLAS} TFLOP/s", f"here it made {made:.0f} on an H200")


def test_random_programs():
    numbers = {}
    for run in read("h200_programs.json")["runs"]:
        assert run["different"] == 0
        numbers.update({(run.get("on", "Numba"), kind): run[kind] for kind in ("expressions", "programs") if kind in run})
    says("accuracy", f"{numbers['Numba', 'expressions']:,} random expressions and {numbers['Numba', 'programs']:,} random "
         f"programs beside Numba, and {numbers['GPU', 'expressions']:,} and {numbers['GPU', 'programs']} beside an H200")


def test_how_fast_the_model_counts():
    speed = read("speed.json")
    numba, other = speed["bulk"]["Numba"], speed["tensor-layouts"]
    millions = {name: round(value / 1e6) for name, value in numba.items()}
    says("notes", f"{millions['ld.shared.b32']} million accesses a second for 32-bit loads",
         f"{millions['ld.shared.b128']} million for 128-bit loads and {millions['ldmatrix.x4']} million for ldmatrix.x4",
         f"beside {other['ld.shared.b32']:,.0f} and {other['ld.shared.b128']:.0f} a second of tensor-layouts")


def test_how_fast_tensor_core_arithmetic_is():
    record = read("products.json")
    chain, batch = ({way: f"{value / 1e6:,.0f}" for way, value in record["products_per_s"][name].items()}
                    for name in ("wgmma.m64n256k16.f32.f16.f16", "m16n8k16.f32.f16.f16.f32"))
    one = record["one_mma_us"]["m16n8k16.f32.f16.f16.f32"]
    says("notes", f"{chain['Numba']} million multiply-adds a second", f"{batch['Numba']} million for many",
         f"beside {chain['NumPy']} and {batch['NumPy']} million in NumPy",
         f"takes {one['Numba']:.1f} microseconds, from registers to registers, beside {one['NumPy']:.1f}")


def test_how_busy_the_tensor_core_is_where_sums_are_promoted():
    found = read("promoting.json")
    M, N, K, *_ = found["shape"]
    least = 2 * M * N * K / (8192 * H200.sms)            # 8192 flops of fp8 a clock and SM; an H100 has as many SMs
    rows = [(clocks[0], clocks[way]) for _, _, clocks, way in found["rows"] if clocks[0]]
    turns, now = zip(*rows, strict=True)
    shares, saved = [f"{100 * least / clocks:.0f}" for clocks in turns], [100 - 100 * b / a for a, b in rows]
    says("notes", f"for {min(shares)} to {max(shares)} % of the clocks", f"for {100 * least / found['cublas']:.0f} %",
         f"up to {100 * least / min(now):.0f} % of the clocks", f"products take {min(saved):.0f} to {max(saved):.0f} %")


def test_what_storing_two_neighbours_at_once_is_worth():
    found = read("h100_pairs.json")
    ratios = {"N": [], "M": []}
    for _, times in found["rows"]:
        for number, before, *since in times:
            ratios[found["configs"][number].get("c_major", "N")].append(before / geometric_mean(since))
    rows, columns = ratios.values()
    says("notes", f"{len(rows)} configurations of int8 are {geometric_mean(rows):.2f} times as fast on an H100",
         f"(geometric mean; up to {max(rows):.2f})", f"as long as before ({len(columns)} configurations")
    assert abs(geometric_mean(columns) - 1) < 0.01


def test_what_fetching_to_l2_ahead_of_the_wait_is_worth():
    rows = read("h100_ahead.json")["rows"]
    early = [(shape, *of) for shape, config, _, *of in rows if config.get("early")]
    others = [late for _, config, late, *_ in rows if not config.get("early")] + [wait for *_, wait, _, _ in rows]

    def longer(of, steps=1):
        return [times[steps] / times[0] for times in of]

    at_two = {" x ".join(map(str, shape[:3])): times[2] / times[0] for shape, times, *_ in early}
    least = min(at_two, key=at_two.get)
    says("matmul", f"{len(early)} products in a row, of which each begins early (below), take "
         f"{100 - 100 * geometric_mean(at_two.values()):.1f} % less", f"{least} {100 - 100 * at_two[least]:.1f} % less")
    assert abs(geometric_mean(longer(others)) - 1) < 0.002
    one, two, three, four, six = (longer([times for _, times, *_ in early], steps) for steps in range(1, 6))
    less = [f"{100 - 100 * geometric_mean(of):.1f}" for of in (one, two, three, four, six)]
    assert less == ["1.2", "1.5", "1.6", "1.6", "1.1"] and f"{max(two):.3f} {max(three):.3f}" == "1.015 1.045"
    assert f"{geometric_mean(longer([by_all for *_, by_all, _ in early], 2)):.3f}" == "1.008"


def test_a_step_of_mma_in_clocks():
    clocks = min(read("h200_rates.json")["clocks_by_warps"]["m16n8k16.f32.f16.f16.f32"].values())
    flops = 2 * 16 * 8 * 16 / clocks
    says("ladder", f"At {clocks:.2f} clocks per m16n8k16", f"{flops / 4096:.0%}".replace("%", " %") + " of the 4096")


def test_how_many_counts_of_unseen_kernels_are_equal():
    kernels = [kernel for name in ("", "_more") for kernel in
               json.loads((DATA / f"h200_unseen{name}_kernels.json").read_text())["kernels"]]
    counts = [pair for kernel in kernels for pair in kernel["wavefronts"].values()]
    other = [kernel for kernel in kernels if kernel["result"] == "other"]
    equal = sum(ours == theirs for ours, theirs in counts)
    says("accuracy", f"it ran {len(kernels)} kernels of others", f"{equal} of {len(counts):,} are since")
    assert len(other) == 3


def test_how_many_counts_of_kernels_of_other_compilers_are_equal():
    kernels = json.loads((DATA / "h200_other_compilers.json").read_text())["kernels"]
    counts = [pair for kernel in kernels for pair in kernel["wavefronts"].values()]
    equal = sum(theirs == ours for theirs, ours in counts)
    says("accuracy", f"it ran {len(kernels)} kernels of compilers", f"{equal} of {len(counts)} counts were equal at once")
    why = [kernel["why"] for kernel in kernels if kernel["result"] == "other"]
    assert len(why) == 6 and len({kernel["compiler"] for kernel in kernels}) == 5


@pytest.mark.parametrize("name, number, compilers, others, many_apart, but", [
    ("more", "ten more", 10, 3, 9, "and all results but three"), ("third", "seventeen more", 17, 0, 44, "and all results")])
def test_how_many_counts_of_kernels_of_more_compilers_are_equal(name, number, compilers, others, many_apart, but):
    kernels = json.loads((DATA / f"h200_{name}_compilers.json").read_text())["kernels"]
    counts = [(theirs, ours, kernel.get("now", {}).get(name, ours)) for kernel in kernels
              for name, (theirs, ours) in kernel["wavefronts"].items()]
    equal = sum(theirs == ours for theirs, ours, _ in counts)
    since = sum(theirs == now for theirs, _, now in counts)
    says("accuracy", f"Of {len(kernels)} kernels of {number}", f"{equal:,} of {len(counts):,} counts were equal at once, "
         + (f"{since:,} are since, {but}" if since > equal else but))
    why = [kernel["why"] for kernel in kernels if kernel["result"] == "other"]
    assert len(why) == others and len({kernel["compiler"] for kernel in kernels}) == compilers
    apart = [kernel for kernel in kernels if any(theirs != ours for theirs, ours in kernel["wavefronts"].values())]
    assert len(apart) == many_apart and [kernel for kernel in kernels if "apart" in kernel] == apart


@pytest.mark.parametrize("name, many, results, why_apart, sentences", [
    ("blind", (18, "eighteen libraries"), "all results but five", {"copies with P0": 8, "a load of one element": 1},
     ["Of the nine kernels with other counts eight have copies with P0"]),
    ("blind_more", (23, "23 projects"), "all results but 16",
     {"atomics try again": 9, "warps come to an atomic": 1, "loads whose lanes share": 7, "loads of a loop": 1},
     ["Of twelve of these the order of atomics", "the other four have a race or read what nothing has written",
      "Of the 18 kernels with other counts ten have atomics that try again or depend on who comes first",
      "in seven lanes share words"]),
    ("blind_third", (24, "24 more projects"), "all results but eight",
     {"atomics try again": 5, "a load that a loop does not change": 1, "a load that makes 64 bits": 1, "CTAs try a lock": 1},
     ["Of six of these the order of atomics, or of a lock, decides, one has a race, which is told",
      "Of the eight kernels with other counts five have atomics that try again"]),
    ("blind_fourth", (15, "fifteen other projects"), "all results but one", {"atomics try again": 1, "the source page": 4},
     ["of which the order of atomics decides", "Of the five kernels with other counts one has atomics that try again"]),
    ("blind_fifth", (5, "for Hopper"), "all results but two",
     {"a load ahead of a branch": 1}, ["in one the order of atomics decides, and one ends at a `brkpt`"]),
    ("blind_sixth", (18, "launches of 157 kernels of seventeen projects and our own"), "all results but 19",
     {"copies with P0": 2, "loads whose lanes share": 3, "a load of what the thread has": 1, "shared memory that nothing": 1,
      "two loads of a cluster's shared memory": 1},
     ["Of 13 of these the order of atomics decides, four have a race or read what nothing has written",
      "Two wavefronts of one of the other counts are not explained"]),
    ("blind_seventh", (21, "launches of 234 kernels of twenty projects and our own"), "all results but nine",
     {"copies with P0": 3, "an atomic that adds floats is tried again": 1},
     ["Of five of these the order of atomics decides, two are the GPU's since, one kernel reads outside of its arrays",
      "Of the four kernels with other counts three have copies with P0, and one has atomics that try again"])])
def test_how_many_counts_of_kernels_predicted_blindly_are_equal(name, many, results, why_apart, sentences):
    kernels = read(f"h200_{name}_kernels.json")["kernels"]
    counts = [(a, b, kernel.get("now", {}).get(of, b)) for kernel in kernels for of, (a, b) in kernel["wavefronts"].items()]
    equal, since = sum(a == b for a, b, _ in counts), sum(a == now for a, _, now in counts)
    whose = {"for": f"kernels {many[1]}", "launches": many[1]}.get(many[1].split()[0], f"kernels of {many[1]}")
    says("accuracy", f"Of {len(kernels)} {whose}", f"{equal} of {len(counts)} counts were equal at once, "
         + f"{since} are since, " * (since > equal) + f"and {results}", *sentences)
    apart = [kernel for kernel in kernels if any(a != b for a, b in kernel["wavefronts"].values())]
    assert apart == [kernel for kernel in kernels if "apart" in kernel]
    assert len({kernel["library"] for kernel in kernels}) == many[0]
    assert {why: sum(kernel["apart"].startswith(why) for kernel in apart) for why in why_apart} == why_apart
    assert len(apart) == sum(why_apart.values())
    for kernel in apart:
        ours = {of: kernel["wavefronts"][of][1] for of in kernel["wavefronts"]}
        if "P0 exchanged" in kernel:
            assert all(ours[of] == kernel["P0 exchanged"][of] for of in ("copy", "all")), kernel
        if "pipe" in kernel:                             # once one more, as hardware's counters have it at times
            assert kernel["pipe"] == ours["ld"] + (kernel["name"] == "dgr_forward_render"), kernel
        if " atomic" in f" {kernel['apart']}":
            assert kernel["exact"] is False


def test_why_results_of_kernels_predicted_blindly_are_others():
    first, more, third, fourth, fifth, sixth, seventh = (
        [kernel for kernel in read(f"h200_{name}_kernels.json")["kernels"] if kernel["result"] == "other"]
        for name in ("blind", "blind_more", "blind_third", "blind_fourth", "blind_fifth", "blind_sixth",
                     "blind_seventh"))
    assert len(first) == 5 and sum(kernel.get("now") == {"result": "equal"} for kernel in first) == 3
    ordered = [kernel for kernel in more if "order" in kernel["why"]]
    assert (len(more), len(ordered)) == (16, 12)
    assert all(kernel.get("hazards", 0) > 0 for kernel in more if kernel not in ordered)
    ordered = [kernel for kernel in third if "order" in kernel["why"]]
    assert (len(third), len(ordered)) == (8, 6)
    assert sum(kernel.get("now") == {"result": "equal"} for kernel in third) == 1
    assert sum(kernel.get("hazards", 0) > 0 for kernel in third if kernel not in ordered) == 1
    assert [("order" in kernel["why"], kernel["exact"]) for kernel in fourth] == [(True, False)]
    assert ["order" in kernel["why"] or "brkpt" in kernel["why"] for kernel in fifth] == [True, True]
    others = [kernel for kernel in sixth if "any order" not in kernel["why"] and "the order" not in kernel["why"]]
    assert (len(sixth), len(others), sum("ptxas" in kernel["why"] for kernel in others)) == (19, 6, 2)
    assert all(kernel.get("hazards", 0) > 0 for kernel in others)
    ordered = [kernel for kernel in seventh if "atomics" in kernel["why"]]
    assert (len(seventh), len(ordered)) == (9, 5)
    assert sum(kernel.get("now") == {"result": "equal"} for kernel in seventh) == 2
    told = [kernel["why"] for kernel in seventh if kernel not in ordered and "now" not in kernel]
    assert ["outside" in why or "as a note says" in why for why in told] == [True, True]


def test_the_kernels_of_numba_and_triton_predicted_blindly_are_as_told():
    kernels = read("h200_blind_seventh_kernels.json")["kernels"]
    assert len({(kernel["library"], kernel["kernel"]) for kernel in kernels}) == 234
    assert [sum(kernel["compiler"] == of for kernel in kernels) for of in ("Numba", "Triton")] == [129, 120]
    assert sum(not kernel["wavefronts"] for kernel in kernels) == 125
    assert sum("hazards" in kernel for kernel in kernels) == 10
    sectors = [kernel["sectors"] for kernel in kernels if "sectors" in kernel]
    says("numba", f"in {sum(theirs == ours for theirs, ours in sectors)} of {len(sectors)} launches of")


def test_of_how_many_kernels_for_hopper_there_are_counts():
    kernels = read("h200_blind_fifth_kernels.json")["kernels"]
    assert [kernel["gmma"][0] == kernel["gmma"][1] for kernel in kernels if "gmma" in kernel] == 17 * [True]
    says("accuracy", f"{sum(len(kernel['wavefronts']) > 0 for kernel in kernels)} have counts")
