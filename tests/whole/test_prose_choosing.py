"""Numbers in the prose about what `matmul` chooses are those of the records."""

import json
from dataclasses import replace
from functools import cache
from statistics import geometric_mean

import numpy as np
from places import DATA
from prose import cells, read, says

from cuda_kernels.bench import grouped, record
from cuda_kernels.lab import tuning_fit, tuning_record
from cuda_kernels.matmul.choose import trees
from cuda_kernels.matmul.choose.candidates import candidates
from cuda_kernels.matmul.choose.figures import FIGURES, H200
from cuda_kernels.matmul.choose.rates import FITTED, RATES
from simlayout.algebra.dtypes import TYPES


def test_what_choosing_by_the_estimate_costs():
    def costs(*each):
        plains = [measured.estimated(RATES) for measured in each]
        kept = [measured.corrected(plain) for measured, plain in zip(each, plains)]
        found = (np.concatenate([of.choices(times)[1] for of, times in zip(each, by)]) for by in (plains, kept))
        return [f"{100 * geometric_mean(cost.tolist()) - 100:.1f} %" for cost in found]

    h200, h100 = (tuning_fit.read(DATA / f"{name}_unseen.json.xz") for name in ("h200", "h100"))
    row = [str(cell) for of in (h200, h100) for cell in (len(of.problems), *costs(of))]
    assert cells("choosing", "of 16 bits, measured after both were fitted") == row
    groups = tuning_fit.read_each(DATA / "h200_groups_many.json.xz")
    row = [str(sum(len(of.problems) for of in groups)), *costs(*groups), "0", "", ""]
    assert cells("choosing", "in groups, measured after both were fitted") == row
    says("choosing", f"{len(candidates()):,} of them are candidates",
         f"these {len(h100.problems)} would cost {' and '.join(costs(replace(h100, gpu=H200)))}")


def test_what_one_run_of_a_tuning_says_of_another():
    rows = [np.array([[*short, *long] for _, short, long in row[1]]).T for row in read("h100_turns.json")["rows"]]

    def cost(pairs):
        costs = [of[one][np.argmin(of[other])] / of[one].min() for of in rows for one, other in pairs]
        return f"{100 * geometric_mean(costs) - 100:.1f} %"

    says("choosing", f"measured ten large products, with {rows[0].shape[1]} configurations each, four times",
         f"choosing by one run costs {cost([(0, 1), (1, 0)])} in the other",
         f"where it costs {cost([(2, 3), (3, 2)])}",
         f"Choosing by the short ones costs {cost([(2, 0), (2, 1), (3, 0), (3, 1)])} in the long ones")
    assert len(rows) == 10
    settled = tuning_fit.read_each(*(DATA / f"{gpu}_settled.json.xz" for gpu in ("h100", "h200")))
    products = {(m.narrow, m.gpu == H200): len(set(m.problems)) for m in settled}
    says("choosing", f"{sum(products.values())} products in settled turns")
    for narrow, kind in ((False, "of 16 bits, in settled turns (below)"), (True, "of 8 bits, in settled turns")):
        assert cells("choosing", kind)[::3] == [str(products.get((narrow, on_h200), 0)) for on_h200 in (True, False)]


def test_how_fast_an_h100_reads_the_weights_of_few_rows():
    def made(set, *shape, of):
        row = next(row for row in record.read(DATA / f"h100_{of}_bench.json").of(set)
                   if (row.problem.M, row.problem.N, row.problem.K) == shape)
        M, N, K = shape
        size, out = TYPES[row.problem.dtype].bytes, TYPES[row.problem.out].bytes
        return (size * (M * K + N * K) + out * M * N) / row.us / 1e6

    few = [made("unseen-orders", 288, 16264, 9552, of="orders"), made("models", 196, 18176, 4544, of="unseen"),
           made("fp8", 128, 10240, 8192, of="eight_bits")]
    drawn, = (m for m in tuning_fit.read_each(DATA / "h100_few_rows.json.xz") if not m.narrow)
    _, cost = drawn.choices(drawn.corrected(drawn.estimated(RATES)))
    best = [of / drawn.times[drawn.product == number].min() for number, of in enumerate(drawn.cublas)]
    says("choosing", f"at {len(best)} such products of an H100", f"choosing costs {100 * geometric_mean(cost) - 100:.1f} %",
         f"the best of twelve configurations is {geometric_mean(best):.2f} of cuBLAS")
    says("choosing", f"of which {min(few):.1f} to {max(few):.1f} TB/s arrive, where one row by 12288 x 28672 gets "
         f"{made('models', 1, 12288, 28672, of='unseen_again'):.1f}")


def test_what_was_left_where_an_h200_measured_products_in_a_row():
    more, weak = (tuning_fit.read(DATA / f"h200_row_{name}.json.xz") for name in ("more", "weak"))
    best, weakest = (np.array(m.cublas) / m.least for m in (more, weak))
    tried = np.bincount(weak.product)
    says("choosing", f"Of {len(best):,} in a row, an H200 multiplied four below 0.95 and {(best < 0.98).sum()} below 0.98",
         f"with the best of {tried.min()} to {tried.max()} it multiplied {len(tried)} that had been among the weakest at "
         f"{weakest.min():.2f} to {weakest.max():.2f}")
    assert (best < 0.95).sum() == 4


def test_how_far_apart_times_of_the_same_products_in_a_row_are_on_another_day():
    before = {}
    for name in ("h200_row", "h200_row_held"):
        record = tuning_fit.tuning_record.read(DATA / f"{name}.json.xz")
        before |= {tried.problem: record.times_of(tried) for tried in record.products}
    again = tuning_fit.tuning_record.read(DATA / "h200_row_weak.json.xz")
    off, products = [], 0
    for tried in again.products:
        times, then = again.times_of(tried), before.get(tried.problem, {})
        ratios = np.log([then[config] / times[config] for config in times if config in then])
        if len(ratios) > 1:
            products += 1
            off.append((len(ratios), ((ratios - ratios.mean()) ** 2).sum()))
    counts, squares = map(np.array, zip(*off))
    deviation = 100 * (squares.sum() / (counts - 1).sum()) ** 0.5
    says("choosing", f"measured configurations of {products} products in a row again",
         f"by {deviation:.1f} % (standard deviation of {counts.sum()})")


def test_what_choosing_costs_at_products_that_nothing_has_learned_from():
    costs, best = [], []
    for name in ("hundreds", "fresh"):
        drawn = tuning_fit.read(DATA / f"h200_{name}.json.xz")
        _, cost = drawn.choices(drawn.corrected(drawn.estimated(RATES)))
        costs.append(f"{100 * geometric_mean(cost) - 100:.1f}")
        best.append(np.array(drawn.cublas) / drawn.least)
    says("choosing", f"Of {len(best[0])} products", f"of {len(best[1])} others", f"choosing costs {' and '.join(costs)} %",
         f"is {' and '.join(f'{geometric_mean(x):.2f}' for x in best)} of cuBLAS",
         f"(least {' and '.join(f'{x.min():.2f}' for x in best)})")


def test_what_is_chosen_beside_cublas_behind_another_kernel_and_tuned():
    apart = {gpu: record.read(DATA / f"{gpu}_apart_bench.json") for gpu in ("h200", "h100")}
    drawn, layers = ([[row.share for row in found.of(name)] for found in apart.values()] for name in ("unseen", "models"))
    means = [f"{geometric_mean(shares):.2f}" for shares in (*drawn, *layers)]
    assert means[2] == means[3]
    tuned = [min(row.share for row in record.read(DATA / f"{gpu}_tuned_bench.json").rows) for gpu in apart]
    says("choosing", f"the random shapes are {means[0]} and {means[1]} of cuBLAS on the H200 and the H100",
         f"(least {min(drawn[0]):.2f} and {min(drawn[1]):.2f}), the layers {means[2]} on both",
         f"the least are {tuned[0]:.2f} on the H200 and {tuned[1]:.2f} on the H100")
    later = "again", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"
    *h200, h100 = (record.read(DATA / f"{name}_bench.json") for name in (
        "h200_unseen", *(f"h200_unseen_{n}" for n in later), "h100_unseen_again"))
    drawn = [row for found in h200 for row in found.of("unseen")]
    weak = sorted((row for row in drawn if row.share < 0.95), key=lambda row: row.share)
    *shapes, last = (f"{row.problem.M} x {row.problem.N} x {row.problem.K} ({row.share:.2f})" for row in weak)
    layers = (min(row.share for row in found.of("models")) for found in h200)
    on_h100 = min(row.share for row in h100.of("models"))
    says("choosing", f"Of the {len(drawn)} random shapes that nine seeds drew for an H200 "
         f"({', '.join(str(found.head['seed']) for found in h200)}) {len(weak)} are below 0.95: "
         f"{', '.join(shapes)} and {last}",
         f"Of the H100's of seed 88417 the least is {min(row.share for row in h100.of('unseen')):.2f}",
         f"the least is {min(layers):.2f} on the H200 and {on_h100:.2f} on the H100")
    sizes = [{f"{row.problem.M} x {row.problem.N} x {row.problem.K}": row for row in rows}
             for rows in (record.read(DATA / "h200_tuned_bench.json").rows, drawn)]
    orders = [record.read(DATA / f"h200_orders_{name}_bench.json").rows for name in ("again", "third", "fourth")]
    weak += [row for rows in orders for row in rows if row.share < 0.95]
    assert all(f"{row.problem.M} x {row.problem.N} x {row.problem.K}" in sizes[0] for row in weak)
    least, other = sorted((row.share, name) for name, row in sizes[0].items())[:2]
    says("choosing", f"of {len(sizes[0])} random shapes of the H200's seeds, all below 0.95 among them, and",
         f"{least[1]} stays at {least[0]:.2f}, the others are {other[0]:.2f} or more",
         f"and {sizes[1]['784 x 5952 x 8296'].share:.2f} without being tuned")
    means, least = ([f"{of(row.share for row in rows):.2f}" for rows in orders] for of in (geometric_mean, min))
    assert [row.share < 0.95 for rows in orders for row in rows].count(True) == 1
    says("choosing", f"Of {sum(map(len, orders))} with MN-major operands that three more seeds drew", "57721) one is: they",
         f"they are {means[0]}, {means[1]} and {means[2]} of cuBLAS (least {least[0]}, {least[1]} and {least[2]})")
    for gpu, of_gpu in (("H200", "h200"), ("H100", "h100")):
        for which in ("unseen", "orders"):
            least = min(record.read(DATA / f"{of_gpu}_{which}_bench.json").rows, key=lambda row: row.share)
            p = least.problem
            says("choosing", f"{p.M} x {p.N} x {p.K} on the {gpu} ({least.share:.2f})")


def test_what_rates_and_trees_have_learned_from(monkeypatch):
    monkeypatch.setattr(tuning_fit.tuning_record, "read", cache(tuning_fit.tuning_record.read))     # eleven are read twice

    def known(*names):
        found = tuning_fit.read_each(*(DATA / name for name in names))
        kernels = {m.estimates.configs[i].program for m in found for i in np.unique(m.tried)}
        counts = {}
        for gpu, narrow in {(m.gpu, m.narrow) for m in found}:
            same = [m for m in found if (m.gpu, m.narrow) == (gpu, narrow)]
            products = set().union(*(m.problems for m in same))
            counts[gpu, narrow] = f"{sum(len(m.times) for m in same):,}", f"{len(products):,}"
        return counts, f"{len(kernels):,}", [m for m in found if m.row]

    fitted = tuning_fit.read_each(*(DATA / f"{name}.json.xz" for name in FITTED))
    times, products = sum(len(m.times) for m in fitted), sum(len(set(m.problems)) for m in fitted)
    learned, in_all, rows = known(*dict.fromkeys(json.loads(trees.PATH.read_text())["records"]))
    h100 = FIGURES["NVIDIA H100 80GB HBM3"]
    says("choosing", f"{times:,} times at {products:,} products of an H200 and an H100",
         "{} times at {} products of an H200".format(*learned[H200, False]),
         "{} at {} of an H100".format(*learned[h100, False]),
         "of 8 bits from {} at {}".format(*learned[H200, True]),
         "and from {} at {}, of {} kernels".format(*learned[h100, True], in_all),
         f"Of these times {sum(len(m.times) for m in rows):,} are of products in a row",
         f"a sum of {len(trees.learned().feature)} regression trees")
    for narrow, kind in ((False, "of 16 bits, in a row"), (True, "of 8 bits, in a row")):
        products = {m.gpu: len(m.problems) for m in rows if m.narrow == narrow}
        assert cells("choosing", kind)[::3] == [f"{products.get(gpu, 0):,}" for gpu in (H200, h100)]


def test_what_trees_of_groups_have_learned_from():
    found = tuning_fit.read_each(*(DATA / name for name in json.loads(trees.OF_GROUPS.read_text())["records"]))
    times, products = ({gpu: sum(count(m) for m in found if m.gpu == gpu) for gpu in FIGURES.values()}
                       for count in (lambda m: len(m.times), lambda m: len(m.problems)))
    h100 = FIGURES["NVIDIA H100 80GB HBM3"]
    says("choosing", f"{len(trees.learned(trees.OF_GROUPS).feature)} trees of their own",
         f"{times[H200]:,} times at {products[H200]} such products of an H200",
         f"and {times[h100]:,} at {products[h100]} of an H100")
    assert cells("choosing", "in groups")[::3] == [str(products[gpu]) for gpu in (H200, h100)]
    drawn = record.read(DATA / "h200_grouped_bench.json").of("groups")
    made = [[row.share for row in drawn if row.label == label] for label in (grouped.LOOP, grouped.TORCH)]
    loop, torch = (f"({min(shares):.2f} to {max(shares):.2f})" for shares in made)
    means = [f"{geometric_mean(shares):.2f}" for shares in made]
    says("matmul", f"an H200 made {means[0]} of a loop {loop} and {means[1]} of torch's grouped product {torch}")
    few, _, many = (row for row in record.read(DATA / "h200_grouped_bench.json").of("grouped")
                    if (row.label, row.problem.groups, row.problem.dtype) == (grouped.LOOP, 8, "bf16"))
    plain, = (row for row in record.read(DATA / "h200_unseen_bench.json").of("models")
              if (row.problem.M, row.problem.N, row.problem.K) == (16384, 5120, 12288))
    p = few.problem
    says("matmul", f"{p.M} x {p.N} x {p.K} reads its weights at {2 * p.groups * p.N * p.K / few.us / 1e6:.1f} TB/s",
         f"the {many.problem.M} rows make {many.tflops:.0f} TFLOP/s where a plain product of that size",
         f"makes {plain.tflops:.0f}")
    beside = read("h100_groups_in_clusters.json")["rows"]
    best = [min(row["configurations"].items(), key=lambda item: item[1])[0] for row in beside]
    clusters = {name for row in beside for name in row["configurations"] if " c1x1 " not in name}
    assert all(" c1x1 " in name for name in best) and len(clusters) == 18
    row = tuning_record.read(DATA / "h200_groups_row.json.xz")
    early = [geometric_mean(times[replace(c, early=True)] / times[c] for c in times if not c.early)
             for times in map(row.times_of, row.products)]
    says("choosing", f"at {len(early)} products of an H200 that took {geometric_mean(early):.2f} times as long",
         f"({min(early):.2f} to {max(early):.2f}")


def test_how_often_an_h100s_best_of_the_likeliest_falls_short_of_cublas():
    found = tuning_fit.read(DATA / "h100_likely.json.xz")
    shares = (np.array(found.cublas) / found.least)[:477]            # behind these are twelve large ones
    assert (shares < 0.95).sum() == 2
    says("choosing", f"Of {len(shares)} products", "two below 0.95", f"{(shares < 0.98).sum()} below 0.98",
         f"geometric mean {geometric_mean(shares.tolist()):.2f}")
