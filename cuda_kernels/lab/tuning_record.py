"""The records that `cuda_kernels.lab.tuning` writes: how long many configurations took at many products; those that
`cuda_kernels.lab.overlap` writes are read as such, too."""

import json
import lzma
from dataclasses import dataclass, replace
from pathlib import Path

from cuda_kernels.bench.record import Product
from cuda_kernels.kernels.hopper.config import Hopper
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import ParseError
from simlayout.files import NOT_OURS, fault_of, write_record

SETTLES = 0.03
"""Seconds of a turn from which on a GPU's clock is taken for that of what runs."""


@dataclass(frozen=True)
class Tried:
    """A Product and what was measured there, microseconds, medians. beside: of cuBLAS, or of groups of a loop over it and of
    torch's grouped product, if that knows such scales; times: (number of a configuration in the record, its time) each."""

    problem: Product
    beside: tuple[float, ...]
    times: tuple[tuple[int, float], ...]

    def __str__(self):
        p, least = self.problem, min((us for _, us in self.times), default=float("inf"))
        groups, shares = f" in {p.groups} groups" * bool(p.groups), ", ".join(f"{us / least:.3f}" for us in self.beside)
        return (f"{p.M:>6} x{p.N:>6} x{p.K:>6} {p.dtype:<5}{groups} cuBLAS {self.beside[0]:>9.1f} us, best {least:>9.1f} of "
                f"{len(self.times):>3}, {shares}")


@dataclass(frozen=True)
class Record:
    """device: the GPU's name; configs: what was tried, those of 16 bits all as if A, B and C were of f16 (`as_f16`);
    products: Tried each; settled: whether turns took so long (SETTLES) that each configuration is taken to have had the
    clock that its own power allows. In shorter ones all have one clock, that of what they draw together."""

    device: str
    configs: tuple[Hopper, ...]
    products: tuple[Tried, ...]
    settled: bool = False

    def times_of(self, tried):
        """{configuration as it was measured: microseconds} of one of the products."""
        return {as_measured(self.configs[i], tried.problem): us for i, us in tried.times}


def as_f16(config):
    """A configuration of 16 bits as one of f16; others as they are."""
    return replace(config, dtype="f16", out="f16") if TYPES[config.dtype].bits == 16 else config


def as_measured(config, problem):
    """A configuration of a record as it was measured at a Product."""
    return replace(config, dtype=problem.dtype, out=problem.out) if TYPES[problem.dtype].bits == 16 else config


def write(path, head, configs, products):
    """Writes a file that `read` reads. head: {name: value}, the device among them; configs, products: as of Record."""
    write_record(path, head, configs=[config.changes for config in configs], rows=[_row(tried) for tried in products])


def _row(tried):
    p = tried.problem
    shape = [p.M, p.N, p.K, p.dtype, *([p.scaled, p.groups] if p.groups else [p.scaled] * bool(p.scaled))]
    return [shape, *tried.beside[:1], tried.times, *tried.beside[1:]]


def read(path):
    """The Record of a file, as it is or compressed by xz. Raises ParseError for any other file."""
    try:
        data = Path(path).read_bytes()
        record = json.loads(lzma.decompress(data) if Path(path).suffix == ".xz" else data)
        if "of each" in record:
            return _in_a_row(record)
        configs = tuple(Hopper(**options) for options in record["configs"])
        if not record["rows"]:
            raise ParseError("there is no product")
        return Record(str(record["device"]), configs, tuple(_tried(row, configs) for row in record["rows"]),
                      bool(record.get("settled")))
    except (*NOT_OURS, lzma.LZMAError) as error:
        raise ParseError(f"{path} is no record of cuda_kernels.lab.tuning: {fault_of(error)}") from None


def _tried(row, configs):
    (M, N, K, dtype, *more), cublas, times, *torch = row
    if not times:
        raise ParseError("a product has no times")
    scaled, groups = more[0] if more else "", int(more[1]) if len(more) > 1 else 0
    first = configs[times[0][0]]
    a_major, b_major = first.turned(first.a_major, first.b_major)
    order = ("N" if a_major == "K" else "T") + ("T" if b_major == "K" else "N")
    problem = Product(int(M), int(N), int(K), dtype, order, scaled, groups)
    return Tried(problem, (cublas, *torch), tuple((i, float(us)) for i, us in times))


def _in_a_row(record):
    """The Record of what `cuda_kernels.lab.overlap` found of products in a row: each configuration without `early` and with
    it, if an SM has one CTA."""
    ways = tuple(map(record["of each"].index, ("late", "early", "cublas")))
    numbers, found = {}, {}
    for (M, N, K, dtype), options, in_a_row, *_ in record["rows"]:
        late, early, cublas = (float(in_a_row[way]) for way in ways)
        config = Hopper(**options | {"early": False})
        _, times = found.setdefault(Product(int(M), int(N), int(K), dtype), ((cublas,), {}))
        if config.resident == 1:
            for one, us in ((config, late), (replace(config, early=True), early)):
                times.setdefault(numbers.setdefault(one, len(numbers)), us)
    products = tuple(Tried(p, beside, tuple(times.items())) for p, (beside, times) in found.items() if times)
    return Record(str(record["device"]), tuple(numbers), products)
