"""The main job: predict, verify, emit, run, check, compare. `simlayout gemm` prints what this returns."""

from dataclasses import dataclass, field

import numpy as np

from cuda_kernels.run.check import compare, rounded
from cuda_kernels.run.runner import backend, run
from simlayout.codegen import check_njit, emit
from simlayout.errors import SimlayoutError
from simlayout.kernel import Problem
from simlayout.shown import Shown


@dataclass(frozen=True)
class Report(Shown):
    """What one run of the main job found.

    rows: per access the predicted AccessCount, and the executed one or None. checks: sentences of what was proved or
    compared. error: largest |C - reference| over its bound (at most 1 when correct).
    """

    kernel: str
    options: dict
    problem: tuple
    device: str
    prediction: object = field(repr=False)
    rows: tuple = field(repr=False)
    checks: tuple = field(repr=False)
    error: float
    timing: dict

    @property
    def ok(self):
        """C is right and every executed count equals its prediction."""
        return self.error <= 1 and all(counted is None or predicted.agrees(counted) for predicted, counted in self.rows)

    def __str__(self):
        """The table of the accesses, at most 100 columns: bytes, too, where TMA and wgmma access shared memory.

        "each" is the excess of one instruction; "executed" says whether the CPU machine counted what was predicted.
        """
        engines = any(predicted.bytes for predicted, _ in self.rows)
        executed = any(counted is not None for _, counted in self.rows)
        head = (f"{'access':<11}{'instruction':<31}{'instructions':>13}{'wavefronts':>12}{'TMA bytes':>14}" if engines else
                f"{'access':<15}{'instruction':<16}{'instructions':>13}{'wavefronts':>12}{'ideal':>12}{'excess':>10}{'each':>6}")
        lines = [head + "  executed" * executed]
        for c, counted in self.rows:
            line = (f"{c.name:<11}{c.instruction:<31}{c.instructions:>13}{c.wavefronts or '':>12}"
                    f"{c.bytes or '':>14}" if engines else
                    f"{c.name:<15}{c.instruction:<16}{c.instructions:>13}{c.wavefronts:>12}{c.ideal:>12}"
                    f"{c.excess:>10}{c.excess_per_instruction:>6.3g}")
            if executed:
                line += "  missing" if counted is None else "  equal" if c.agrees(counted) else \
                    f"  {counted.instructions} / {counted.wavefronts} / {counted.bytes if engines else counted.ideal}"
            lines.append(line.rstrip())
        return "\n".join(lines)

    def as_dict(self):
        """Plain values, for JSON."""
        executed = {predicted.name: {"instructions": d.instructions, "wavefronts": d.wavefronts, "ideal": d.ideal}
                    | ({"bytes": d.bytes} if d.bytes else {}) for predicted, d in self.rows if d is not None}
        return {"kernel": self.kernel, "options": self.options, "problem": dict(zip("MNK", self.problem)),
                "device": self.device, "ok": self.ok, "prediction": self.prediction.as_dict(), "executed": executed or None,
                "checks": list(self.checks), "error_over_bound": self.error, **self.timing}


def main_job(kernel, M, N, K, device="auto", seed=0, progress=None, say=lambda line: None):
    """Predicts, verifies, emits and runs one kernel on random normal matrices of its dtype, and checks all of it.

    kernel: a GEMM kernel. M, N, K: of C (M, N) = A (M, K) times B (N, K) transposed. device: "cpu", "gpu", or "auto", a GPU
    if there is one. seed: of the matrices. say: called with one line as each step ends. progress: see
    `cuda_kernels.run.runner.run`. Returns a Report. Raises SimlayoutError where the plan does not know a copy's wavefronts,
    and what proofs and runs raise.

    >>> from cuda_kernels.kernels import named
    >>> report = main_job(named("mma_permuted"), 256, 128, 32, device="cpu")
    >>> report.ok
    True
    >>> print(str(report).splitlines()[3])
    load A         ldmatrix.x4                64         256         256         0     0  equal
    """
    problem = Problem(M, N, K, sms=backend(kernel, device).sms)
    kernel = kernel.fitted(problem)
    prediction = kernel.predict(problem)
    unknown = [c.name for c in prediction.counts if not c.exact]
    if unknown:
        raise SimlayoutError(f"the plan of {kernel.name} does not know the wavefronts of {' and '.join(unknown)}: give the "
                             "access a Source")
    certificates = kernel.prove()
    say(f"verified   {kernel.claim.format(len(certificates))}")
    checks = [f"{name}: {claim}" for name, c in certificates.items() for claim in c.claims]
    if kernel.accesses:
        checks.append(emit_again(kernel))
        say(checks[-1])
    generator = np.random.default_rng(seed)
    a, b = (rounded(kernel.dtypes[0], generator.standard_normal(shape, np.float32)) for shape in ((M, K), (N, K)))
    result = run(kernel, a, b.T, device=device, progress=progress)
    error, how = compare(result.c, a, b, getattr(kernel.options, "accumulate", "f32"), generator)
    say(f"correct    {how}" if error <= 1 else f"WRONG      {how}")
    rows = tuple((c, _executed_as(c, result.trace)) for c in prediction.counts)
    timing = time_on_gpu(kernel, M, N, K) if result.trace is None else {}
    return Report(kernel.name, vars(kernel.options).copy(), (M, N, K), result.device, prediction, rows,
                  (*checks, how), error, timing)


def _executed_as(predicted, trace):
    """What a Trace counted of a predicted access, by its name, or, of what no index function addresses, by its instruction;
    None where it counted nothing."""
    if trace is None:
        return None
    named = (c for c in trace.accesses if c.name == predicted.name)
    return next(named, None) or next((c for c in trace.by_instruction() if c.name == predicted.instruction), None)


def emit_again(kernel):
    """Emits the plan's index functions anew and checks each against the model; returns the sentence that says so."""
    import importlib.util

    with_numba = importlib.util.find_spec("numba") is not None
    points = 0
    for access in kernel.plan.accesses:
        emission = emit(access, unit="bytes")
        points += int(np.prod(list(access.domain.values())))
        if with_numba:
            check_njit(emission, access)
    ways = "as plain Python and under numba.njit" if with_numba else "as plain Python"
    count = len(kernel.plan.accesses)
    return f"emitted    {count} index function{'s' * (count > 1)}, equal to the model on all {points} points {ways}"


def time_on_gpu(kernel, M, N, K):
    """TFLOP/s of the kernel, and of cuBLAS where torch or CuPy is there, in one run; see `cuda_kernels.bench`."""
    from cuda_kernels.bench import compare_with_cublas

    return compare_with_cublas([kernel], M, N, K)[0]
