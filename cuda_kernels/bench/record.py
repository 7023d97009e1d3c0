"""Measurements as data: a Row per product, a Record per run, and the JSON file that holds one."""

import ast
import json
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from cuda_kernels.kernels.hopper.epilogue import EPILOGUES
from cuda_kernels.matmul.recipe import RESULTS
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import ParseError, SimlayoutError
from simlayout.files import NOT_OURS, fault_of, reading, write_record

SMS = 132
"""Streaming multiprocessors of the GPU of records that do not say: an H200 (NVIDIA H200 data sheet)."""


@dataclass(frozen=True)
class Product:
    """C (M, N) = A (M, K) times B (K, N). dtype: of A and B, "f16", "bf16", "e4m3", "e5m2" or "s8"; order: BLAS's for A and
    B: N a matrix with contiguous rows, T the transpose of one; scaled: "", or what of 8-bit floats has a scale of its own:
    "tensor", "lines" (rows of A and columns of B), or of every 128 of K rows of A x columns of B, "1x128". groups: of rows
    of A, each of which has a B of its own (`bench.grouped`); 0 where there is one B. epilogue: what is done to C's elements,
    as Hopper's option.

    >>> str(Product(1024, 512, 256)), Product(1024, 512, 256).nbytes
    ('1024 x 512 x 256 f16 NT', 1835008)
    >>> str(Product(16, 512, 256, "e4m3", scaled="1x128")), Product(16, 512, 256, "e4m3").out
    ('16 x 512 x 256 e4m3 NT scaled by 1x128', 'bf16')
    """

    M: int
    N: int
    K: int
    dtype: str = "f16"
    order: str = "NT"
    scaled: str = ""
    groups: int = 0
    epilogue: str = ""

    @property
    def out(self):
        """The dtype of C."""
        return RESULTS[self.dtype]

    @property
    def flops(self):
        """Floating-point operations: a multiplication and an addition for each of M N K."""
        return 2 * self.M * self.N * self.K

    @property
    def nbytes(self):
        """Bytes of A, B and C, and of what is read that has C's shape."""
        of_a, like_c = TYPES[self.dtype].bytes, 1 + len(EPILOGUES[self.epilogue].like_c)
        of_b = self.K * self.N * max(1, self.groups)
        return of_a * (self.M * self.K + of_b) + TYPES[self.out].bytes * self.M * self.N * like_c

    def __str__(self):
        scaled = f" scaled by {self.scaled}" * bool(self.scaled)
        groups = f" in {self.groups} groups" * bool(self.groups)
        then = f" then {self.epilogue}" * bool(self.epilogue)
        return f"{self.M} x {self.N} x {self.K} {self.dtype} {self.order}{scaled}{groups}{then}"


@dataclass(frozen=True)
class Row:
    """A product as it was measured beside cuBLAS.

    set, label: what was measured; config: the kernel's options by name, None where nobody kept them; us, cublas_us:
    microseconds per product, medians; share: of cuBLAS's speed, the median over the rounds of the ratio of two neighbouring
    turns. cublas_us and share are None where there was no cuBLAS.
    """

    set: str
    label: str
    problem: Product
    config: dict | None
    us: float
    cublas_us: float | None
    share: float | None

    @property
    def tflops(self):
        """10**12 floating-point operations per second."""
        return self.problem.flops / self.us / 1e6

    @property
    def cublas_tflops(self):
        """The same of cuBLAS; None without it."""
        return None if self.cublas_us is None else self.problem.flops / self.cublas_us / 1e6

    def waves(self, sms=SMS):
        """How often the kernel's CTAs fill a GPU of `sms` SMs to give every tile of C one; None if it is no Hopper kernel.

        >>> Row("", "", Product(4096, 4096, 64), {"tile_m": 128, "tile_n": 256}, 1.0, 1.0, 1.0).waves(128)
        4.0
        """
        from cuda_kernels.kernels.hopper.config import Hopper

        try:
            config = Hopper(**self.config)
        except (TypeError, SimlayoutError):              # nothing, or the options of another kernel
            return None
        rows, cols = self.problem.M, self.problem.N
        if config.c_major == "M":                        # the kernel computes the transpose, whose rows are our columns
            rows, cols = cols, rows
        return config.tiles(rows, cols) / config.slots(sms)

    def as_dict(self):
        """Plain values, as the record has them."""
        p = self.problem
        given, plain = (p.scaled, p.groups, p.epilogue), ("", 0, "")
        count = max((i + 1 for i in range(len(plain)) if given[i] != plain[i]), default=0)
        shape = [p.M, p.N, p.K, p.dtype, p.order, *given[:count]]
        return {"set": self.set, "label": self.label, "shape": shape, "config": self.config,
                "us": _rounded(self.us, 2), "cublas us": _rounded(self.cublas_us, 2), "share": _rounded(self.share, 4)}


@dataclass(frozen=True)
class Record:
    """A run: `head` says where, when and how (a dict of plain values), rows are its Rows."""

    head: dict
    rows: tuple

    @property
    def sms(self):
        """SMs of the GPU."""
        return self.head.get("sms", SMS)

    def of(self, *sets):
        """The Rows of some sets."""
        return [row for row in self.rows if row.set in sets]


def _rounded(value, digits):
    return None if value is None else round(value, digits)


def config_dict(config):
    """A configuration as plain values: what a Kernel says; None and dicts as they are."""
    return config if config is None or isinstance(config, dict) else config.as_record()


def parse_config(text):
    """{option: value} of a text like "Hopper(tile_m=64, store='tma')", as older records have it; nothing is evaluated.

    >>> parse_config("Hopper(tile_m=64, store='tma')")
    {'tile_m': 64, 'store': 'tma'}
    """
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
            raise ValueError("no call with named options")
        return {k.arg: ast.literal_eval(k.value) for k in call.keywords}
    except (SyntaxError, ValueError) as error:
        raise ParseError(f"{text!r} is no configuration ({error}): write Name(option=value, ...)") from None


def write(path, record):
    """Writes a Record, whole or not at all; one row per line."""
    write_record(path, record.head, rows=[row.as_dict() for row in record.rows])


def read(path):
    """The Record in a file that `write` wrote, or in an older format: a configuration as text; rows by label and size.

    Raises ParseError for another file, and SimlayoutError for one that cannot be read.
    """
    with reading(path):
        held = Path(path).read_bytes()
    try:
        head = json.loads(held)
        rows = head.pop("rows")
        if isinstance(rows, dict):
            parsed = _by_label(rows)
        else:
            parsed = [_row(**{_name(k): v for k, v in row.items()}) for row in rows]
    except NOT_OURS as error:
        raise ParseError(f"{path} is no record of `simlayout bench`: {fault_of(error)}") from None
    return Record(head, tuple(parsed))


def _name(key):
    return key.replace(" ", "_")


def _row(shape, config, us, cublas_us, share, set="", label="matmul"):
    if isinstance(config, str):
        config = parse_config(config)
    if not (isfinite(us) and us > 0):
        raise ValueError(f"{us} microseconds")
    return Row(set, label, Product(*shape), config, us, cublas_us, share)


def _by_label(rows):
    """The Rows of {label: {size: {"seconds", "cublas_tflops", "share"}}}: square f16 products of the project's kernels."""
    for label, sizes in rows.items():
        for size, row in sizes.items():
            problem = Product(int(size), int(size), int(size))
            theirs = row.get("cublas_tflops")
            yield Row("kernels", label, problem, None, 1e6 * row["seconds"], theirs and problem.flops / theirs / 1e6,
                      row.get("share"))
