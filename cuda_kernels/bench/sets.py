"""What `simlayout bench` measures: sets of products, each with the kernel that computes it beside cuBLAS."""

import random
from dataclasses import dataclass, replace

from cuda_kernels.bench import grouped, rungs, steps
from cuda_kernels.bench.record import Product
from cuda_kernels.matmul.tune.groups import SEED
from simlayout.errors import SimlayoutError
from simlayout.wording import meant

TRITON = "triton"
"""The kernel of a Case that is Triton's instead of this project's."""

MATMUL_ROW = "matmul"
"""The label of what `matmul` chooses."""


@dataclass(frozen=True)
class Case:
    """A measurement to make. set, label: what rows are called; kernel: as `matmul` takes it, or TRITON."""

    set: str
    label: str
    problem: Product
    kernel: object

    def __str__(self):
        return f"{self.set} {self.problem} {self.label}"


@dataclass(frozen=True)
class Set:
    """A set by name. summary: for help; cases: a function of sizes, or of a seed, -> list of (label, Product, kernel);
    sizes: the default ones, None where the set has none; drawn: whether its shapes are drawn from a seed; seconds: how
    long a turn lasts: a kernel inherits the clock of the one before it, and where their powers differ much it takes a while
    to settle (cuBLAS at 8192 cubed, after a kernel that draws less: 1520 microseconds in the first 0.05 s, 1720 to 1790 from
    0.3 s on)."""

    summary: str
    cases: object
    sizes: tuple | None = None
    drawn: bool = False
    seconds: float = 0.05


SQUARES = (1024, 2048, 3072, 4096, 5120, 8192, 16384)
LAYERS = [Product(tokens, n, k, "bf16") for tokens in (1, 16, 128, 1024, 8192)
          for k, n in ((4096, 4096), (4096, 14336), (14336, 4096), (8192, 28672))]
FEW_TILES = [Product(512, 512, 512), Product(64, 4096, 4096), Product(4096, 64, 8192)]
TRANSPOSES = [Product(4096, 4096, 4096, dtype, order) for dtype in ("f16", "bf16") for order in ("NN", "NT", "TN", "TT")]


EIGHT_BITS = ((4096, 4096, 4096), (8192, 8192, 8192), (128, 6144, 4096), (1024, 28672, 4096), (8192, 4096, 14336),
              (128, 10240, 8192), (1024, 8192, 28672), (4096, 57344, 8192), (128, 7168, 16384), (1024, 24576, 1536),
              (4096, 4096, 7168), (4096, 7168, 2048))
"""M, N, K: two cubes, and layers of Llama 3 8B and 70B and of DeepSeek-V3, for 128 to 8192 tokens."""


def eight_bits(dtype, scaled):
    """What `_matmul` takes for the products of EIGHT_BITS, of one type and with one kind of scales."""
    return lambda sizes: [Product(*size, dtype, scaled=scaled) for size in EIGHT_BITS]


EPILOGUES = "bias_n", "bias_n relu", "bias_n gelu_tanh", "residual", "residual bias_n", "silu multiply"
"""A linear layer, one with an activation, BLAS's beta C, an output layer of a transformer, and the gate of a SwiGLU."""
EPILOGUED = (4096, 4096, 4096), (8192, 14336, 4096), (128, 8192, 8192)


def epilogues(sizes):
    """Products of bf16 whose elements are finished."""
    return [Product(*size, "bf16", epilogue=epilogue) for size in EPILOGUED for epilogue in EPILOGUES]


def squares(sizes):
    """M = N = K, f16."""
    return [Product(n, n, n) for n in sizes]


def random_problems(count=60, seed=SEED, least=256, most=12288):
    """`count` problems: each of M, N, K log-uniform in least..most, a multiple of 8."""
    source = random.Random(seed)

    def size():
        return 8 * round(least * (most / least) ** source.random() / 8)

    return [Product(size(), size(), size()) for _ in range(count)]


def unseen(seed):
    """100 problems of 64 to 16384, f16 and bf16 in turns."""
    return [replace(p, dtype=("f16", "bf16")[i % 2]) for i, p in enumerate(random_problems(100, seed, 64, 16384))]


def unseen_orders(seed):
    """60 such problems whose operands lie in the other orders, NN, TN and TT in turns."""
    return [replace(p, order=("NN", "TN", "TT")[i % 3]) for i, p in enumerate(unseen(seed)[:60])]


WIDTHS = {"BERT large": (1024, 4096), "DiT XL": (1152, 4608), "Whisper large": (1280, 5120), "GPT-2 XL": (1600, 6400),
          "Llama 3.2 1B": (2048, 8192), "Phi-3 mini": (3072, 8192), "Qwen 2.5 7B": (3584, 18944), "Falcon 7B": (4544, 18176),
          "DeepSeek V2": (5120, 12288), "Mistral Large 2": (12288, 28672)}
"""Of a model's layers: of what passes between them, and of their feed-forward parts, by their published configurations."""

TOKENS = 1, 8, 77, 196, 256, 577, 1500, 2048, 4096, 16384
"""Such as a batch of one generates, CLIP reads of a text or of a picture's patches, Whisper of half a minute."""


def model_layers(seed):
    """20 layers of models, bf16: into and out of the feed-forward part of each, of so many tokens as are drawn."""
    source = random.Random(seed)
    return [Product(source.choice(TOKENS), *sizes, "bf16") for width, hidden in WIDTHS.values()
            for sizes in ((hidden, width), (width, hidden))]


def unseen_eight_bits(scaled, n, k):
    """Of a seed, 40 e4m3 problems of 64 to 16384 and the sizes of `model_layers`; N and K are multiples of n and k, as
    torch._scaled_mm wants them, and M of 16."""
    def problems(seed):
        drawn = random_problems(40, seed, 64, 16384) + model_layers(seed)
        return [Product(_up(p.M, 16), _up(p.N, n), _up(p.K, k), "e4m3", scaled=scaled) for p in drawn]

    return problems


def _up(size, multiple):
    return -(-size // multiple) * multiple


def default_variants():
    """The variants of the mma.sync kernels that the README's table shows: [(label, Kernel)].

    >>> [label for label, _ in default_variants()][:2]
    ['mma_base, 1 stage', 'mma_base, 2 stages']
    """
    from cuda_kernels import KERNELS

    rows = []
    for name in ("mma_base", "mma_padded", "mma_permuted"):
        for stages in (1, 2, 3, 4):
            rows.append((f"{name}, {stages} stage{'s' if stages > 1 else ''}", KERNELS[name].variant(stages=stages)))
        rows.append((f"{name}, 4 stages, f16 accumulation", KERNELS[name].variant(accumulate="f16")))
    for name in ("mma_blocks", "mma_crosswise"):
        for warps in (4, 8):
            for loads in ("ldmatrix", "lds", "mixed"):
                rows.append((f"{name}, {warps} warps, {loads}", KERNELS[name].variant(warps=warps, loads=loads)))
        rows.append((f"{name}, 4 warps, ldmatrix, scalar C store", KERNELS[name].variant(c_store="scalar")))
        rows.append((f"{name}, 4 warps, ldmatrix, f16 accumulation", KERNELS[name].variant(accumulate="f16")))
    return rows


def every_kernel():
    """(label, kernel) of every kernel of the project: the variants of the mma.sync kernels, and those for Hopper."""
    from cuda_kernels.kernels import HOPPER_KERNELS

    return [*default_variants(), *HOPPER_KERNELS.items()]


def _matmul(problems):
    """matmul's own choice for each of some problems, a function of sizes or of a seed."""
    return lambda given: [(MATMUL_ROW, problem, "auto") for problem in problems(given)]


def _of_kernels(sizes):
    return [(label, problem, kernel) for problem in squares(sizes) for label, kernel in every_kernel()]


def _of_ladder(sizes):
    return [(rung.label, _product(n, rung.kernel), rung.kernel) for n in sizes for rung in rungs.rungs()]


def _product(n, kernel):
    """n x n x n of a kernel's dtype, with B in the order that it takes."""
    return Product(n, n, n, kernel.dtypes[0], "NT" if kernel.majors[1] == "K" else "NN")


def _of_steps(sizes):
    return [(step.name, _product(n, kernel), kernel) for n in sizes for step, kernel in steps.ladder() if kernel]


SETS = {
    "squares": Set("M = N = K, f16", _matmul(squares), SQUARES),
    "layers": Set("transformer layers: 1 to 8192 tokens by four weights, bf16", _matmul(lambda sizes: LAYERS)),
    "few": Set("products of few tiles, f16", _matmul(lambda sizes: FEW_TILES)),
    "transposes": Set("4096 x 4096 x 4096 in all four orders, f16 and bf16", _matmul(lambda sizes: TRANSPOSES)),
    "random": Set("60 random shapes, f16", _matmul(lambda seed: random_problems(seed=seed)), drawn=True),
    "unseen": Set("100 random shapes of 64 to 16384, f16 and bf16", _matmul(unseen), drawn=True),
    "unseen-orders": Set("60 such shapes with A and B in the orders NN, TN and TT", _matmul(unseen_orders), drawn=True),
    "models": Set("20 layers of ten models, bf16", _matmul(model_layers), drawn=True),
    "unseen-fp8": Set("60 shapes, random and of these layers, e4m3, a scale for each row and column",
                      _matmul(unseen_eight_bits("lines", 16, 16)), drawn=True),
    "unseen-blocks": Set("60 such shapes, scales for 1x128 of A and 128x128 of B",
                         _matmul(unseen_eight_bits("1x128", 128, 512)), drawn=True),
    "fp8": Set("e4m3, a scale for each tensor: two cubes and layers", _matmul(eight_bits("e4m3", "tensor"))),
    "fp8-lines": Set("the same, a scale for each row and column", _matmul(eight_bits("e4m3", "lines"))),
    "fp8-blocks": Set("the same, scales for 1x128 of A and 128x128 of B", _matmul(eight_bits("e4m3", "1x128"))),
    "int8": Set("the same of int8, to int32", _matmul(eight_bits("s8", ""))),
    "epilogues": Set("bf16 with bias, residual, an activation, a product of elements", _matmul(epilogues)),
    "grouped": Set("8 to 256 groups of rows: experts of Mixtral 8x7B and DeepSeek-V3",
                   lambda sizes: grouped.cases(grouped.PRODUCTS)),
    "groups": Set("10 products of 4 to 160 groups of rows", lambda seed: grouped.cases(grouped.drawn(seed)), drawn=True),
    "kernels": Set("every kernel of the project by itself, f16", _of_kernels, (4096, 8192), seconds=0.15),
    "ladder": Set("every rung of the tutorials' ladders (`simlayout ladder`)", _of_ladder, (8192,), seconds=0.5),
    "steps": Set("the ladder of fast.cu, one option changed at a time, bf16", _of_steps, (steps.SIZE,), seconds=0.15),
}
"""What can be measured, by name. The first thirteen measure what `matmul` chooses, two then what `grouped_matmul` does."""

MATMUL = ("squares", "layers", "few", "transposes", "random")
"""The sets that are measured where none is named."""


def _check_given(names, option, given, has):
    """Raises SimlayoutError for an option that is given and for none of the named sets. has: whether it is for a Set."""
    if given and not any(has(SETS[name]) for name in names):
        having = ", ".join(name for name, bench_set in SETS.items() if has(bench_set))
        verb, whose = ("has", "its") if len(names) == 1 else ("have", "their")
        raise SimlayoutError(f"{option}: {', '.join(names)} {verb} shapes of {whose} own; it is for {having}")


def cases_of(names, sizes=None, only=(), triton=False, seed=SEED):
    """[Case] of the named sets (none: MATMUL) in their order.

    sizes: M = N = K of the sets that have sizes; seed: of those that are drawn; only: texts of which a case must contain
    one; triton: with a case of Triton's matmul behind each of matmul's. Raises SimlayoutError for names and texts that leave
    nothing to measure, and for sizes or a seed of which no set asks.
    """
    names = list(dict.fromkeys(names or MATMUL))
    for name in names:
        if name not in SETS:
            raise SimlayoutError(f"there is no set {name!r} to measure{meant(name, SETS)}; there are {', '.join(SETS)}")
    _check_given(names, "--sizes", bool(sizes), lambda bench_set: bench_set.sizes)
    _check_given(names, "--seed", seed != SEED, lambda bench_set: bench_set.drawn)
    cases = []
    for name in names:
        bench_set = SETS[name]
        given = seed if bench_set.drawn else (sizes or bench_set.sizes) if bench_set.sizes else None
        for label, problem, kernel in bench_set.cases(given):
            cases.append(Case(name, label, problem, kernel))
            if triton and kernel == "auto":
                cases.append(Case(name, TRITON, problem, TRITON))
    chosen = [case for case in cases if not only or any(text in str(case) for text in only)]
    if not chosen:
        raise SimlayoutError(f"--only {' '.join(only)}: no row contains that, such as {str(cases[0])!r}")
    return chosen
