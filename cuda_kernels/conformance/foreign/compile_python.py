"""Compiles kernels in Python to PTX, under an interpreter that has Triton or numba-cuda; `build` runs it as a file.

python compile_python.py triton|numba < {row: what `build.wanted` says} > versions and PTX, one line of JSON
"""

import json
import sys
from importlib.metadata import version

PTX_VERSION, CAPABILITY = 90, (9, 0)


def with_triton(module, rows):
    """{row: {ptx, shared}}, versions."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    made = {}
    for name, row in rows.items():
        constants = {key: value for key, value in row["signature"].items() if not isinstance(value, str)}
        signature = {
            key: "constexpr" if key in constants else value.partition(":")[0] for key, value in row["signature"].items()
        }
        aligned = {
            (i,): [["tt.divisibility", 16]]
            for i, value in enumerate(row["signature"].values())
            if str(value).endswith(":16")
        }
        source = ASTSource(triton.jit(getattr(module, row["entry"])), signature, constants, aligned)
        options = {
            "num_warps": row["warps"],
            "num_stages": row["stages"],
            "ptx_version": PTX_VERSION,
            "enable_fp_fusion": True,
        }
        kernel = triton.compile(source, target=GPUTarget("cuda", 10 * CAPABILITY[0] + CAPABILITY[1], 32), options=options)
        made[name] = {"ptx": kernel.asm["ptx"], "shared": kernel.metadata.shared}
    return made, {"triton": triton.__version__}


def with_numba(module, rows):
    """{row: {ptx}}, versions."""
    from numba import cuda, types

    def type_of(name):
        if isinstance(name, str):
            return getattr(types, name)
        return types.Array(getattr(types, name[0]), name[1], "A" if len(name) > 2 else "C")

    made = {}
    for name, row in rows.items():
        signature = tuple(type_of(t) for t in row["types"])
        text, _ = cuda.compile_ptx(getattr(module, row["entry"]), signature, cc=CAPABILITY, lineinfo=True)
        made[name] = {"ptx": text}
    return made, {name: version(name) for name in ("numba-cuda", "numba", "nvidia-nvvm")}


def main():
    """As the module says."""
    language = sys.argv[1]
    if language == "triton":
        import triton_kernels as module  # this file's folder is the first of sys.path
    else:
        import numba_kernels as module
    kernels, versions = {"triton": with_triton, "numba": with_numba}[language](module, json.load(sys.stdin))
    print(json.dumps({"kernels": kernels, "versions": versions}))


if __name__ == "__main__":
    main()
