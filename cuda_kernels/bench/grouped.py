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

SHAPES = ((8, 64, MIXTRAL, "bf16"), (8, 4096, MIXTRAL, "bf16"), (8, 16384, MIXTRAL, "bf16"), (8, 16384, MIXTRAL, "e4m3"),
          (64, 512, DEEPSEEK_UP, "bf16"), (64, 16384, DEEPSEEK_UP, "bf16"), (64, 16384, DEEPSEEK_DOWN, "bf16"),
          (64, 16384, DEEPSEEK_UP, "e4m3"), (64, 65536, DEEPSEEK_DOWN, "e4m3"),
          (256, 1024, DEEPSEEK_UP, "bf16"), (256, 8192, DEEPSEEK_DOWN, "bf16"), (256, 32768, DEEPSEEK_UP, "bf16"),
          (256, 8192, DEEPSEEK_UP, "e4m3"), (256, 65536, DEEPSEEK_UP, "e4m3"))
"""Groups, rows of all of them, (N, K) of each group's matrix, dtype; 8-bit floats have a scale for each row and column."""

PRODUCTS = [Product(rows, *matrix, dtype, "NT", "lines" * (dtype == "e4m3"), groups)
            for groups, rows, matrix, dtype in SHAPES]


def drawn(seed, count=10, most=4 << 30):
    """Products of groups that nobody has tuned for: 4 to 160 groups of 4 to 1500 rows on average, and matrices of 1024 to
    8192 each way, log-uniform, bf16 and e4m3 in turns; those whose operands are more than `most` bytes are drawn again."""
    source, found = random.Random(seed), []

    def size(least, most, multiple):
        return multiple * round(least * (most / least) ** source.random() / multiple)

    while len(found) < count:
        groups, dtype = size(4, 160, 1), ("bf16", "e4m3")[len(found) % 2]
        rows, N, K = round(groups * size(4, 1500, 1)), size(1024, 8192, 64), size(1024, 8192, 64)
        made = Product(rows, N, K, dtype, "NT", "lines" * (dtype == "e4m3"), groups)
        found += [made] if made.nbytes <= most else []
    return found


class Beside:
    """A library as the timing sees it, for a grouped Product: operands, and what multiplies them beside ours. library:
    `libraries.Torch`; label: LOOP or TORCH."""

    def __init__(self, library, problem, label):
        if not hasattr(library, "torch"):
            raise DeviceError(f"grouped products are measured beside torch's, and here is {library.version}: pip install "
                              "torch")
        self._library, self._label, self._sizes = library, label, sizes_of(problem.M, problem.groups)

    def __getattr__(self, name):
        return getattr(self._library, name)

    def operands(self, problem):
        """(a, b, out, offsets), and scales of a and of b where there are some, of a Product."""
        torch, library, (rows, N, K) = self.torch, self._library, (problem.M, problem.N, problem.K)
        a, b = library.normal((rows, K), problem.dtype), library.empty((problem.groups, N, K), problem.dtype)
        for matrix in b:                                 # one at a time: 8-bit floats are rounded from numbers of 32 bits
            matrix.copy_(library.normal((N, K), problem.dtype))
        offsets = torch.tensor(self._sizes, device="cuda").cumsum(0).to(torch.int32)
        shapes = ((rows, 1), (problem.groups, N)) if problem.scaled else ()
        scales = [torch.rand(*shape, device="cuda") + 0.5 for shape in shapes]
        return a, b.transpose(1, 2), library.empty((rows, N), problem.out), offsets, *scales

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
            if size and scales:                          # cuBLAS wants scales that start on 16 bytes
                scale_a, scale_b = self._aligned(scales, mine, i)
                self._library.multiply(a[mine], b[i], out[mine], {"scale_a": scale_a, "scale_b": scale_b})
            elif size:
                self._library.multiply(a[mine], b[i], out[mine])
            start += size

    def _aligned(self, scales, rows, group):
        """(scale_a, scale_b) of a group, copied once."""
        kept = self.__dict__.setdefault("_scales", {})
        key = scales[0].data_ptr(), group
        if key not in kept:
            kept[key] = scales[0][rows].clone(), scales[1][group:group + 1].clone()
        return kept[key]


def prepared(kernel, a, b, out, offsets, *scales, overlap=True):
    """The product of `Beside.operands` as something to call again and again, as `timing.prepared`."""
    from cuda_kernels import plan_grouped_matmul

    scaled = dict(zip(("scale_a", "scale_b"), scales))
    return plan_grouped_matmul(a, b, offsets, out, kernel=kernel, overlap=overlap, **scaled)


def cases(products):
    """What a set measures: each of some products beside both."""
    return [(label, problem, "auto") for problem in products for label in LABELS]
