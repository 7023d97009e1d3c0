"""Pipelines of CUDA C++ that nobody wrote: the machine gives the sums of their twin and tells nothing, and every fault is
told."""

import numpy as np
from hypothesis import strategies as st
from nvcc import needs_nvcc, ptx_of
from random_pipelines import faults, groups, rings, source, summed, tiles
from tiers import given_few

import simlayout as sl

OPTIONS = st.sampled_from((("-Xcicc", "-O3"), ("-Xcicc", "-O1")))


def launched(module, pipeline, fault):
    """(sums, the kinds of hazards that are told)."""
    words, sums = tiles(pipeline), np.zeros(pipeline.threads, np.int32)
    padded = np.zeros(pipeline.tiles * pipeline.words, np.int32)
    padded[:len(words)] = words
    map = sl.TensorMap.of(padded.reshape(-1, 32), (32, pipeline.words // 32), swizzle=0)
    try:
        trace = module[f"fault{fault}"].run(1, pipeline.threads, map, words, sums, len(words), hazards="report")
    except sl.HazardError as error:
        return sums, {error.hazard.kind}
    return sums, {hazard.kind for hazard in trace.hazards}


def judge(pipeline, folder, options):
    module = sl.ptx.load(ptx_of(source(pipeline), folder, *options))
    sums, kinds = launched(module, pipeline, 0)
    assert not kinds and sums.tolist() == summed(pipeline).tolist()
    assert [fault for fault in faults(pipeline) if not launched(module, pipeline, fault)[1]] == []


@needs_nvcc
@given_few(1, 60, groups, OPTIONS)
def test_copies_by_groups_are_right_and_every_fault_in_them_is_told(tmp_path_factory, pipeline, options):
    judge(pipeline, tmp_path_factory.mktemp("groups", numbered=True), options)


@needs_nvcc
@given_few(1, 60, rings, OPTIONS)
def test_rings_of_stages_are_right_and_every_fault_in_them_is_told(tmp_path_factory, pipeline, options):
    judge(pipeline, tmp_path_factory.mktemp("rings", numbered=True), options)
