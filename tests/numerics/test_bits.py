"""C of whole GEMMs, bit for bit: what the GPU computed (tests/data/h200_bits.json) against the exact rule of mma."""

import json
from itertools import product

import numpy as np
import pytest
from places import DATA
from tiers import sweep_but

from cuda_kernels.bench import default_variants
from cuda_kernels.conformance.gemms.bits import PROBLEMS, cpu_result, digest, operands
from simlayout.numerics import gemm

RECORD = json.loads((DATA / "h200_bits.json").read_text())
LABELS = [label for label, _ in default_variants()]
FEW = "mma_base, 4 stages, f16 accumulation", "mma_crosswise, 8 warps, mixed"


def predicted(problem, accumulate):
    """The digest of C from the arithmetic of mma alone: K in steps of 16, then one rounding to f16."""
    a, b = operands(*problem)
    return digest(gemm(f"m16n8k16.{accumulate}.f16.f16.{accumulate}", a, b).astype(np.float16))


def test_every_variant_was_compared_at_three_problems_and_no_bit_differed():
    assert [(o["variant"], tuple(o["problem"])) for o in RECORD["outcomes"]] == [(v, p) for v in LABELS for p in PROBLEMS]
    assert all(o["differ"] == 0 and o["gpu"] == o["cpu"] for o in RECORD["outcomes"])


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_the_bits_that_the_gpu_computed_follow_from_the_rule_of_mma_and_the_order_of_k(problem):
    expected = {accumulate: predicted(problem, accumulate) for accumulate in ("f32", "f16")}
    assert expected["f32"] != expected["f16"]
    for outcome in RECORD["outcomes"]:
        if tuple(outcome["problem"]) == problem:
            assert outcome["gpu"] == expected["f16" if "f16 accumulation" in outcome["variant"] else "f32"], outcome


@pytest.mark.parametrize("case", sweep_but([(label, PROBLEMS[-1]) for label in FEW], product(LABELS, PROBLEMS)), ids=str)
def test_the_cpu_machine_computes_the_bits_that_the_gpu_computed(case):
    (outcome,) = (o for o in RECORD["outcomes"] if (o["variant"], tuple(o["problem"])) == case)
    assert digest(cpu_result(*case)) == outcome["gpu"]
