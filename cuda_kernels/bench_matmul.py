"""matmul against cuBLAS on one GPU, in one run.

    python -m cuda_kernels.bench_matmul [--sets squares layers transposes random] [--json FILE]

For each shape, `cuda_kernels.plan_matmul` and torch's cuBLAS take turns, several rounds of each. A turn replays a CUDA graph
of calls that rotate over operands of at least 150 MB (up to 8 sets of them), so that neither the host nor a warm L2 takes
part; operands are random normal. The share of cuBLAS is the median over the rounds of the ratio of two neighbouring turns.
"""

import argparse
import json
import random
import statistics
import sys

from cuda_kernels.bench import where_and_when
from simlayout.errors import DeviceError
from simlayout.files import write_whole

SQUARES = [(n, n, n, "f16", "NT") for n in (1024, 2048, 3072, 4096, 5120, 8192, 16384)]
LAYERS = [(tokens, n, k, "bf16", "NT") for tokens in (1, 16, 128, 1024, 8192)
          for k, n in ((4096, 4096), (4096, 14336), (14336, 4096), (8192, 28672))]
FEW_TILES = [(512, 512, 512, "f16", "NT"), (64, 4096, 4096, "f16", "NT"), (4096, 64, 8192, "f16", "NT")]
TRANSPOSES = [(4096, 4096, 4096, dtype, order) for dtype in ("f16", "bf16") for order in ("NN", "NT", "TN", "TT")]


def random_shapes(count=60, seed=2026):
    """`count` shapes: each of M, N, K log-uniform in 256..12288, a multiple of 8."""
    source = random.Random(seed)

    def size():
        return 8 * round(256 * 48 ** source.random() / 8)

    return [(size(), size(), size(), "f16", "NT") for _ in range(count)]


SETS = {"squares": SQUARES, "layers": LAYERS, "few": FEW_TILES, "transposes": TRANSPOSES, "random": random_shapes()}
"""Name -> (M, N, K, dtype, order): order is BLAS's, N a matrix with contiguous rows, T the transpose of one."""


def operands(torch, M, N, K, dtype, order):
    """(a, b, out) on the GPU."""
    kind = {"f16": torch.float16, "bf16": torch.bfloat16}[dtype]

    def matrix(rows, cols, transposed):
        shape = (cols, rows) if transposed else (rows, cols)
        made = torch.randn(*shape, device="cuda", dtype=kind)
        return made.T if transposed else made

    return matrix(M, K, order[0] == "T"), matrix(K, N, order[1] == "T"), torch.empty(M, N, device="cuda", dtype=kind)


def graph_of(torch, calls, count):
    """A CUDA graph of `count` calls in rotation."""
    for call in calls:
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(count):
            calls[i % len(calls)]()
    return graph


def compare(shape, rounds=5, seconds=0.05):
    """{"shape", "config", "us", "cublas us", "share"} of one shape; raises DeviceError if the product is wrong."""
    import torch

    from cuda_kernels import plan_matmul

    M, N, K, dtype, order = shape
    nbytes, flops = 2 * (M * K + N * K + M * N), 2 * M * N * K
    sets = [operands(torch, *shape) for _ in range(min(8, 1 + int(150e6 / nbytes)))]
    plans = [plan_matmul(*three) for three in sets]
    plans[0]()
    ours = sets[0][2].clone()
    torch.matmul(*sets[0][:2], out=sets[0][2])
    wrong = (ours.float() - sets[0][2].float()).abs().max().item()
    if not wrong <= (0.02 if dtype == "bf16" else 0.003) * K ** 0.5 * 4:
        raise DeviceError(f"{shape}: matmul and cuBLAS differ by {wrong}")
    guess = max(flops / 600e12, nbytes / 4e12) + 3e-6
    count = max(len(sets), min(60, int(seconds / guess / 2)))
    theirs = [lambda x=x: torch.matmul(x[0], x[1], out=x[2]) for x in sets]
    graphs = [graph_of(torch, plans, count), graph_of(torch, theirs, count)]
    replays = max(1, round(seconds / (guess * count)))
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    times = [[], []]
    for turn in range(rounds + 1):                       # the first round warms up
        for graph, found in zip(graphs, times):
            start.record()
            for _ in range(replays):
                graph.replay()
            end.record()
            torch.cuda.synchronize()
            if turn:
                found.append(1e3 * start.elapsed_time(end) / replays / count)
    return {"shape": list(shape), "config": repr(plans[0].config), "us": round(statistics.median(times[0]), 2),
            "cublas us": round(statistics.median(times[1]), 2),
            "share": round(statistics.median(theirs / mine for mine, theirs in zip(*times)), 4)}


def summary(rows):
    """(geometric mean, least) of the shares of some rows."""
    return statistics.geometric_mean(r["share"] for r in rows), min(r["share"] for r in rows)


def main(arguments=None):
    """Prints a row per shape and what each set comes to."""
    parser = argparse.ArgumentParser(prog="python -m cuda_kernels.bench_matmul", description=__doc__.split("\n\n")[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS), help="which shapes")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.05, help="of a turn")
    parser.add_argument("--json", help="write the measurements to this file")
    options = parser.parse_args(arguments)
    try:
        import torch
    except ImportError:
        raise DeviceError("no torch here, whose cuBLAS matmul is compared with: pip install torch") from None
    rows = []
    for name in options.sets:
        for shape in SETS[name]:
            rows.append({"set": name, **compare(shape, options.rounds, options.seconds)})
            row = rows[-1]
            M, N, K, dtype, order = shape
            print(f"{name:<11}{M:>6} x{N:>6} x{K:>6} {dtype:<5}{order} {row['us']:>10.1f} us  cuBLAS "
                  f"{row['cublas us']:>10.1f} us  {row['share']:.3f}", flush=True)
            torch.cuda.empty_cache()
        mean, least = summary([r for r in rows if r["set"] == name])
        print(f"{name}: geometric mean {mean:.3f}, least {least:.3f} of cuBLAS")
    if options.json:
        head = {**where_and_when("cuda_kernels.bench_matmul", arguments), "torch": torch.__version__,
                "rounds": options.rounds, "seconds": options.seconds}
        lines = ",\n  ".join(json.dumps(row) for row in rows)
        write_whole(options.json, json.dumps(head, indent=1)[:-2] + f',\n "rows": [\n  {lines}\n ]\n}}\n')
    return 0


if __name__ == "__main__":
    sys.exit(main())
