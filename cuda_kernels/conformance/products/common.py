"""What the comparisons of products of matrices with a GPU share: tiles as registers, options, and how a comparison ends."""

import io
import json
from dataclasses import asdict

import numpy as np

from cuda_kernels.bench.command import recording_parser_of, where_and_when
from cuda_kernels.run.device import gpu_problem
from simlayout.errors import DeviceError, SimlayoutError
from simlayout.files import write_whole
from simlayout.hardware import fragment


def raw(x):
    """Stored elements as unsigned integers of their bits."""
    return x.view(np.dtype(f"uint{8 * x.dtype.itemsize}"))


def pack(name, operand, matrices):
    """Matrices [tiles, rows, cols] as the registers of a warp each, lane after lane: uint8 [tiles, bytes]."""
    f = fragment(name, operand)
    row, col = np.moveaxis(f.coordinates(), -1, 0)
    elements = np.ascontiguousarray(raw(matrices)[:, row, col])                          # [tiles, lanes, values]
    bits = 32 // f.per_register
    if bits < 8:                                                                      # the first is in the lowest bits
        parts = (elements & (1 << bits) - 1).reshape(*elements.shape[:2], -1, 8 // bits)
        elements = (parts << np.arange(0, 8, bits, dtype=np.uint8)).sum(axis=-1).astype(np.uint8)
    return elements.view(np.uint8).reshape(len(matrices), -1)


def unpack(name, registers, dtype):
    """D of the registers of warps, [tiles, rows, cols]."""
    f = fragment(name, "D")
    row, col = np.moveaxis(f.coordinates(), -1, 0)
    d = np.empty((len(registers), *f.shape), dtype)
    d[:, row, col] = registers.view(dtype).reshape(-1, f.lanes, f.values)
    return d


def selected(only, known, where):
    """Those of the known names that contain one of the texts (all without any). Raises SimlayoutError if there is none;
    where: the known ones are listed."""
    names = [n for n in known if not only or any(text in n for text in only)]
    if not names:
        raise SimlayoutError(f"no mma has {' or '.join(only)} in its name; the names are those of {where}")
    return names


def parser_with(module, doc, many, what, kept):
    """The parser of a comparison of products. many: the option that says how many, and its default; kept: by --record."""
    option, default = many
    parser = recording_parser_of(module, doc)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(option, type=int, default=default, help=f"{what} (default: {default})")
    parser.add_argument("--only", nargs="+", default=[], help="only instructions whose name contains one of these")
    parser.add_argument("--cpu", action="store_true", help="run the kernels on the CPU machine")
    parser.add_argument("--record", help=f"write {kept}, with what was found, to this .npz")
    return parser


def check_gpu(options):
    """Raises DeviceError where there is no GPU, and none was to do without."""
    if not options.cpu and gpu_problem():
        raise DeviceError(f"{gpu_problem()}; --cpu runs the same kernels on the CPU machine")


def ended(module, arguments, options, rows, arrays, counted="instructions"):
    """Prints the sums of Rows, writes what the options ask for, and returns the exit status. counted: what a Row is of."""
    wrong = sum(r.wrong for r in rows)
    print(f"{len(rows)} {counted}, {sum(r.outputs for r in rows):,} outputs, {wrong:,} wrong")
    if options.json:
        head = {} if options.cpu else where_and_when(module, arguments)
        write_whole(options.json, json.dumps({**head, "seed": options.seed, "rows": [asdict(r) for r in rows]}, indent=1))
    if options.record:
        file = io.BytesIO()
        np.savez_compressed(file, **arrays)
        write_whole(options.record, file.getvalue())
    return 1 if wrong else 0
