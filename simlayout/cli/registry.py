"""What the commands take from `cuda_kernels`, by name.

`cuda_kernels` is built on simlayout, so simlayout imports nothing of it. The commands that run kernels lie in simlayout
nevertheless, because there is one program. They ask here: this is the one place of simlayout that names cuda_kernels. Its
modules load when a command first uses something of them.

>>> from simlayout.cli import registry
>>> "mma_permuted" in registry.KERNELS
True
"""

from importlib import import_module

HOMES = {
    "KERNELS": "cuda_kernels.kernels:KERNELS",
    "named": "cuda_kernels.kernels:named",
    "backend": "cuda_kernels.run.runner:backend",
    "run": "cuda_kernels.run.runner:run",
    "rounded": "cuda_kernels.run.check:rounded",
    "main_job": "cuda_kernels.job:main_job",
    "gpu_problem": "cuda_kernels.run.device:gpu_problem",
    "time_estimate": "cuda_kernels.run.estimates:time_estimate",
    "require_memory": "cuda_kernels.run.estimates:require_memory",
    "BenchChoice": "cuda_kernels.bench.run:Choice",
    "bench": "cuda_kernels.bench.run:bench",
    "BENCH_FOLLOWING": "cuda_kernels.bench.timing:FOLLOWING",
    "BENCH_OF_MATMUL": "cuda_kernels.bench.sets:MATMUL",
    "BENCH_SEED": "cuda_kernels.matmul.tune.groups:SEED",
    "BENCH_SETS": "cuda_kernels.bench.sets:SETS",
    "Asked": "cuda_kernels.matmul.tune.asked:Asked",
    "asked_in": "cuda_kernels.matmul.tune.asked:asked_in",
    "TUNE_SECONDS": "cuda_kernels.matmul.tune.measure:SECONDS",
    "TUNE_DTYPES": "cuda_kernels.matmul.tune.asked:DTYPES",
    "TUNE_ORDERS": "cuda_kernels.matmul.tune.asked:ORDERS",
    "TUNE_OUTS": "cuda_kernels.matmul.tune.asked:OUTS",
    "tune_all": "cuda_kernels.matmul.tune.command:tune_all",
    "listed": "cuda_kernels.matmul.tune.command:listed",
    "all_kept": "cuda_kernels.matmul.tune.kept:all_kept",
    "forget": "cuda_kernels.matmul.tune.kept:forget",
    "LADDERS": "cuda_kernels.bench.rungs:SEEDS",
    "rungs": "cuda_kernels.bench.rungs:rungs",
    "CONFORM_CASES": "cuda_kernels.conformance.suite:CASES",
    "CONFORM_FORMS": "cuda_kernels.conformance.forms:FORMS",
    "conform": "cuda_kernels.conformance.suite:conform",
    "table_of_cases": "cuda_kernels.conformance.suite:table",
    "ROCM_SCRIPT": "cuda_kernels.conformance.rocm:__file__",
}
"""{name here: "module:name there"}."""


def __getattr__(name):
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, there = HOMES[name].partition(":")
    return getattr(import_module(module), there)
