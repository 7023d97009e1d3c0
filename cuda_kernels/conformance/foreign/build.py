"""Compiles the kernels to PTX, without a GPU.

    python -m cuda_kernels.conformance.foreign.build [--nvcc NVCC [--cutlass FOLDER]] [--triton PYTHON] [--numba PYTHON]
                                                     [--data FOLDER]

NVCC: nvcc of CUDA 13.0, because the PTX of a newer one asks for a newer driver. FOLDER: CUTLASS's, which has include and
tools. PYTHON: interpreters that have Triton, and numba-cuda with NVVM of CUDA 13.0. Without them the PTX of that language,
or of CUTLASS, stays as it is. Prints the versions and writes them to versions.json beside the PTX.
"""

import json
import lzma
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from cuda_kernels.bench.command import ended_by, parser_of

HERE = Path(__file__).parent
FLAGS = ("-arch=sm_90a", "-std=c++17", "-O3", "-lineinfo", "-ptx")
CUTLASS = "cutlass.cu"
CUTLASS_FLAGS = ("--expt-relaxed-constexpr", "-w", "-DCUTLASS_ENABLE_DIRECT_CUDA_DRIVER_CALL=1")
"""The last one so that the function of the driver that encodes tensor maps is the program's own."""
PTX_VERSION = 90
"""What a driver of CUDA 13.0 takes at most."""


def with_nvcc(nvcc, source, target, folder, *options):
    """The PTX text of a .cu file; paths in it are those below `folder`, so that they tell nothing of this machine."""
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "out.ptx"
        call_nvcc(nvcc, *FLAGS, *options, source.relative_to(folder), "-o", out, cwd=folder)
        keep(target, clean(out.read_text(), folder))


def call_nvcc(nvcc, *words, cwd):
    """Runs nvcc in a folder; what it says is the message if it refuses."""
    done = subprocess.run([nvcc, *words], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"nvcc refused {' '.join(map(str, words))}: {done.stderr.strip()}")


def with_cutlass(nvcc, cutlass, data):
    """Compiles cutlass.cu, and keeps the parameters that it prints as a program; returns CUTLASS's version."""
    from cuda_kernels.conformance.foreign.rows_cutlass import KEPT, SIZES

    source, libraries = HERE / "cuda" / CUTLASS, Path(nvcc).resolve().parents[1] / "lib"
    options = [*CUTLASS_FLAGS, *(f"-I{cutlass / folder}" for folder in ("include", "tools/util/include"))]
    with_nvcc(nvcc, source, data / "cutlass.ptx.xz", HERE, *options)
    with tempfile.TemporaryDirectory() as scratch:
        program = Path(scratch) / "tell"
        call_nvcc(nvcc, "-arch=sm_90a", "-std=c++17", *options, f"-L{libraries}", source, "-o", program, cwd=HERE)
        told = subprocess.run([program, *map(str, SIZES)], capture_output=True, text=True, check=True).stdout
    lines = map(json.loads, told.splitlines())
    (data / KEPT).write_text(json.dumps({line["name"]: line for line in lines}, indent=1) + "\n")
    version = (cutlass / "include/cutlass/version.h").read_text()
    return ".".join(re.search(rf"CUTLASS_{part} (\d+)", version)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def clean(text, folder):
    """PTX with the paths of this machine taken off the .file lines, and the comments that repeat the paths.

    >>> clean('.file 1 "/a/b/foreign/cuda/x.cu"\\n.file 2 "/opt/include/y.h", 1, 2', "/a/b/foreign")
    '.file 1 "cuda/x.cu"\\n.file 2 "y.h"'
    """

    def shorter(found):
        path = found[2]
        return f'{found[1]}"{Path(path).relative_to(folder) if path.startswith(f"{folder}/") else Path(path).name}"'

    return re.sub(r'(\.file\s+\d+\s+)"([^"]*)"[^\n]*', shorter, text)


def keep(target, text):
    """Writes compressed PTX, the same bytes for the same text."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(lzma.compress(text.encode(), preset=9))


def in_python(python, language, data):
    """Runs this file's other half under an interpreter that has the language; what it printed, from JSON."""
    done = subprocess.run([python, HERE / "compile_python.py", language], input=json.dumps(wanted(language)),
                          capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{python} did not compile the kernels of {language}: {done.stderr.strip().splitlines()[-1]}")
    answer = json.loads(done.stdout.splitlines()[-1])
    rows = {row.name: row for row in of_language(language)}
    for name, made in answer["kernels"].items():
        shared = made.get("shared", rows[name].shared_bytes)
        if shared != rows[name].shared_bytes:
            print(f"{name}: {shared} bytes of shared memory, its row says {rows[name].shared_bytes}", file=sys.stderr)
        keep(rows[name].path(data), clean(made["ptx"], HERE))
    return answer["versions"]


def of_language(language):
    """The rows of a language."""
    from cuda_kernels.conformance.foreign import ROWS

    return [row for row in ROWS.values() if row.language == language]


def wanted(language):
    """What the other interpreter has to compile, as JSON: {row: {entry, ...}}."""
    return {row.name: {"entry": row.entry, **row.compile} for row in of_language(language)}


def main(arguments=None):
    """Compiles all that there is a compiler for."""
    from cuda_kernels.conformance.foreign.row import DATA

    parser = parser_of("cuda_kernels.conformance.foreign.build", __doc__)
    parser.add_argument("--nvcc")
    parser.add_argument("--cutlass", type=Path, metavar="FOLDER")
    parser.add_argument("--triton", metavar="PYTHON")
    parser.add_argument("--numba", metavar="PYTHON")
    parser.add_argument("--data", type=Path, default=DATA)
    options = parser.parse_args(arguments)
    notes = options.data / "versions.json"
    versions = json.loads(notes.read_text()) if notes.exists() else {}
    if options.nvcc:
        text = subprocess.run([options.nvcc, "--version"], capture_output=True, text=True).stdout
        versions["nvcc"] = {"nvcc": re.search(r"V([\d.]+)", text)[1], "flags": " ".join(FLAGS)}
        for source in sorted((HERE / "cuda").glob("*.cu")):
            if source.name != CUTLASS:
                with_nvcc(options.nvcc, source, options.data / f"{source.stem}.ptx.xz", HERE)
        for source in sorted((options.data / "faults").glob("*.cu")):
            with_nvcc(options.nvcc, source, source.with_suffix(".ptx.xz"), source.parent)
        if options.cutlass:
            versions["cutlass"] = {"cutlass": with_cutlass(options.nvcc, options.cutlass, options.data)}
    for language in ("triton", "numba"):
        if getattr(options, language):
            versions[language] = in_python(getattr(options, language), language, options.data)
    notes.write_text(json.dumps(versions, indent=1) + "\n")
    print(json.dumps(versions, indent=1))


if __name__ == "__main__":
    ended_by(main)
