"""CUDA C++ kernels as their authors wrote them, counted on an H100, against the plans of kernels with their layouts."""

import json

import pytest
from places import DATA

from cuda_kernels import KERNELS
from cuda_kernels.bench.rungs import rungs
from simlayout.kernel import Problem

RECORD = json.loads((DATA / "h100_originals.json").read_text())
RUNGS = {rung.name: rung.kernel for rung in rungs("MatmulTutorial")}
OURS = {
    "cuda_hgemm mma_base.cu": KERNELS["mma_base"].variant(stages=1),
    "cuda_hgemm mma_permuted.cu": KERNELS["mma_permuted"].variant(stages=1),
    "cuda_hgemm mma_async_stage3.cu": KERNELS["mma_permuted"].variant(stages=3),
    "MatmulTutorial sm80 v05": RUNGS["v05"].variant(c_store="scalar"),       # the original stores C float by float
    "MatmulTutorial sm80 v13": RUNGS["v13"],
}
KINDS = {"ld": "ld.shared", "ldmatrix": "ldmatrix", "st": "st.shared", "copy": "cp.async"}


@pytest.mark.parametrize("row", RECORD["rows"], ids=lambda row: row["kernel"])
def test_what_an_h100_counted_for_the_originals_is_what_the_plans_predict(row):
    counts = OURS[row["kernel"]].fitted(Problem(*row["shape"])).plan.predict(*row["shape"]).counts
    for kind, name in KINDS.items():
        of_kind = [count for count in counts if count.instruction.startswith(name)]
        assert sum(count.wavefronts for count in of_kind) == (row[kind] or 0), kind
        executed = row.get({"ldmatrix": "ldmatrix executed", "copy": "copies executed"}.get(kind))
        if executed is not None:
            assert sum(count.instructions for count in of_kind) == executed


def test_every_counted_original_has_its_plan():
    assert [row["kernel"] for row in RECORD["rows"]] == list(OURS)
    assert sum(row[kind] is not None for row in RECORD["rows"] for kind in KINDS) == 18
