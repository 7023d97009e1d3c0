"""Grouped products beside torch: a loop of one product for each group, and torch's own grouped product.

The sizes of the groups come from a seed (`tune.groups`). The loop is given them on the host, and runs from a CUDA graph, so
that it does not pay for launches; grouped_matmul and torch._grouped_mm read offsets on the GPU.
"""

import random

from cuda_kernels.bench.record import Product
from cuda_kernels.matmul.tune.groups import sizes_of
from simlayout.errors import DeviceError

LOOP, TORCH = LABELS = "beside a loop", "beside torch's grouped"
"""What a case is called: after what it is measured beside."""

MIXTRAL, DEEPSEEK_UP, DEEPSEEK_DOWN = (14336, 4096), (4096, 7168), (7168, 2048)
"""N, K: an expert's first two matrices in Mixtral 8x7B, each; in DeepSeek-V3 both together, and its last one."""

SHAPES = ((8, 64, MIXTRAL, ""), (8, 4096, MIXTRAL, ""), (8, 16384, MIXTRAL, ""), (8, 16384, MIXTRAL, "lines"),
          (64, 512, DEEPSEEK_UP, ""), (64, 16384, DEEPSEEK_UP, ""), (64, 16384, DEEPSEEK_DOWN, ""),
          (64, 16384, DEEPSEEK_UP, "lines"), (64, 65536, DEEPSEEK_DOWN, "lines"),
          (256, 1024, DEEPSEEK_UP, ""), (256, 8192, DEEPSEEK_DOWN, ""), (256, 32768, DEEPSEEK_UP, ""),
          (256, 8192, DEEPSEEK_UP, "lines"), (256, 65536, DEEPSEEK_UP, "lines"),
          (8, 16384, MIXTRAL, "1x128"), (64, 16384, DEEPSEEK_UP, "1x128"), (64, 65536, DEEPSEEK_DOWN, "1x128"),
          (256, 65536, DEEPSEEK_UP, "1x128"))
"""Groups, rows of all of them, (N, K) of each group's matrix, what of e4m3 has a scale of its own; bf16 has none."""


def product(groups, rows, matrix, scaled):
    """The Product of what is in SHAPES."""
    return Product(rows, *matrix, "e4m3" if scaled else "bf16", "NT", scaled, groups)


PRODUCTS = [product(*shape) for shape in SHAPES]


def drawn(seed, count=10, most=4 << 30):
    """Products of groups that nobody has tuned for: 4 to 160 groups of 4 to 1500 rows on average, and matrices of 1024 to
    8192 each way, log-uniform, bf16 and e4m3 in turns; those whose operands are more than `most` bytes are drawn again."""
    source, found = random.Random(seed), []

    def size(least, most, multiple):
        return multiple * round(least * (most / least) ** source.random() / multiple)

    while len(found) < count:
        groups, scaled = size(4, 160, 1), ("", "lines")[len(found) % 2]
        rows, N, K = round(groups * size(4, 1500, 1)), size(1024, 8192, 64), size(1024, 8192, 64)
        made = product(groups, rows, (N, K), scaled)
        found += [made] if made.nbytes <= most else []
    return found


ROWS = 16
"""Groups with scales of blocks have multiples of so many rows, because cuBLAS asks it of a product."""


def labels(problem):
    """Those of LABELS that a Product is measured beside: torch's grouped product knows no scales of blocks."""
    return (LOOP,) if problem.scaled == "1x128" else LABELS


class Beside:
    """A library as the timing sees it, for a grouped Product: operands, and what multiplies them beside ours. library:
    `libraries.Torch`; label: LOOP or TORCH."""

    def __init__(self, library, problem, label):
        if not hasattr(library, "torch"):
            raise DeviceError(f"grouped products are measured beside torch's, and here is {library.version}: pip install "
                              "torch")
        step = ROWS if problem.scaled == "1x128" else 1
        self._library, self._label = library, label
        self._sizes = [step * size for size in sizes_of(problem.M // step, problem.groups)]

    def __getattr__(self, name):
        return getattr(self._library, name)

    def operands(self, problem):
        """(a, b, out, offsets), and scales of a and of b where there are some, of a Product."""
        torch, library, (rows, N, K) = self.torch, self._library, (problem.M, problem.N, problem.K)
        a, b = library.normal((rows, K), problem.dtype), library.empty((problem.groups, N, K), problem.dtype)
        for matrix in b:                                 # one at a time: 8-bit floats are rounded from numbers of 32 bits
            matrix.copy_(library.normal((N, K), problem.dtype))
        offsets = torch.tensor(self._sizes, device="cuda").cumsum(0).to(torch.int32)
        return a, b.transpose(1, 2), library.empty((rows, N), problem.out), offsets, *library.scales(problem)

    def multiply(self, a, b, out, offsets, *scales):
        """out = a @ b group by group; torch's grouped product makes an array of its own."""
        if self._label == LOOP:
            self._loop(a, b, out, *scales)
        elif scales:
            self.torch._scaled_grouped_mm(a, b, scales[0].view(-1), scales[1], offs=offsets, out_dtype=out.dtype,
                                          use_fast_accum=True)
        else:
            self.torch._grouped_mm(a, b, offs=offsets)

    def _loop(self, a, b, out, *scales):
        start = 0
        for i, size in enumerate(self._sizes):
            mine = slice(start, start + size)
            if size and scales:
                scale_a, scale_b = self._of_group(scales, mine, i)
                self._library.multiply(a[mine], b[i], out[mine], {"scale_a": scale_a, "scale_b": scale_b})
            elif size:
                self._library.multiply(a[mine], b[i], out[mine])
            start += size

    def _of_group(self, scales, rows, group):
        """(scale_a, scale_b) of a group, copied once: cuBLAS wants scales that start on 16 bytes, and those of blocks column
        by column, one behind another."""
        kept = self.__dict__.setdefault("_scales", {})
        key = scales[0].data_ptr(), group
        if key not in kept:
            of_b = scales[1][group] if scales[1].ndim == 3 else scales[1][group:group + 1].clone()
            kept[key] = scales[0][rows].t().clone().t(), of_b
        return kept[key]


def prepared(kernel, a, b, out, offsets, *scales, overlap=True):
    """The product of `Beside.operands` as something to call again and again, as `timing.prepared`."""
    from cuda_kernels import plan_grouped_matmul

    scaled = dict(zip(("scale_a", "scale_b"), scales))
    return plan_grouped_matmul(a, b, offsets, out, kernel=kernel, overlap=overlap, **scaled)


def cases(products):
    """What a set measures: each of some products beside what there is."""
    return [(label, problem, "auto") for problem in products for label in labels(problem)]
