"""Loops that test at their top are turned where ptxas turns them, and do the same."""

import re
from collections import Counter

import numpy as np
import pytest
from machine_code import listed_each, needs_tools
from ptx_texts import module
from random_flow import MARKS, random_flow, to_assemble, to_run

from simlayout import ptx
from simlayout.machine.ptx.parser.grammar import parse
from simlayout.machine.ptx.passes.flow import Flow
from simlayout.machine.ptx.passes.rotated import rotated

TOP = "$0 L: $1 {}? E; $2 {}bra L; E: $3 "
LOOPS = {
    TOP.format("", ""): True,
    "$0 L: $1 ?! E; $2 bra L; E: $3 ": True,
    "$0 L: $1 ? B; bra E; B: $2 bra L; E: $3 ": True,
    "$0 bra.uni M; L: $2 M: $1 ? L; E: $3 ": True,
    "$0 L: $1 ? E; $2 ? L; $4 bra L; E: $3 ": True,
    "$0 L: $1 ? E; $2 ? E; $4 bra L; E: $3 ": True,
    "$0 L: $1 ? E; $2 ? E; bra L; E: $3 ": True,
    "$0 L: $1 ? E; N: $2 $4 ? N; bra L; E: $3 ": True,
    "$0 ? X; L: $1 ? E; bra L; X: $4 E: $3 ": True,
    TOP.format('bar.sync 0; ', ""): True,
    TOP.format("", "bar.sync 0; "): True,
    TOP.format("", "membar.cta; "): True,
    TOP.format("@%p8 add.f32 %f1, %f1, %f2; ", ""): True,
    TOP.format("fence.proxy.async; ", ""): True,
    TOP.format("atom.shared.add.u32 %x1, [%r4], 1; ", ""): True,
    TOP.format("add.f32 %f1, %f1, %f2; " * 300, ""): True,
    TOP.replace("L: ", 'L: .pragma "nounroll"; ').format("", ""): True,
    TOP.format("membar.cta; ", ""): False,
    TOP.format("fence.acq_rel.cta; ", ""): False,
    TOP.format("@%p8 st.shared.f32 [%r4], %f1; ", ""): False,
    TOP.format("pmevent 1; ", ""): False,
    "$0 L: $1 ? E; bra L; E: $3 ": False,
    "$0 L: $1 ? E; $2 ?! L; E: $3 ": False,
    "$0 L: $1 ? X; $4 bar.sync 0; X: $5 ? E; $2 bra L; E: $3 ": False,
    "$0 L: $1 ? E; N: $2 ? X; $4 bra N; X: bra L; E: $3 ": False,
    "$0 L: $1 ? E; N: $2 ?! L; bra N; E: $3 ": False,
}
"""Loops -> whether block 1, at their top, is copied."""


def of_machine(text):
    """{kind of MUFU: how many there are where loops have been turned}."""
    flow = Flow.of(rotated(parse(module(to_assemble(text), ["u64", "u32"])).functions["kernel"])[0])
    names = {f"{name}.f32": kind for kind, name in MARKS.items()}
    return Counter(names[one.name] for block in flow.order for one in flow.blocks[block] if one.name in names)


def of_ptxas(texts, folder):
    """The same of what ptxas makes of each text."""
    found = listed_each([to_assemble(text) for text in texts], folder)
    return [Counter(opcode.split(".")[1] for opcode in found[to_assemble(text)] if re.match(r"MUFU\.[A-Z]", opcode))
            for text in texts]


@pytest.mark.parametrize("text", LOOPS)
def test_the_top_of_a_loop_is_copied_where_ptxas_copies_it(text):
    assert of_machine(text)["LG2"] == 1 + LOOPS[text]


@needs_tools
def test_ptxas_makes_these_copies(tmp_path):
    assert {text: found["LG2"] == 2 for text, found in zip(LOOPS, of_ptxas([*LOOPS], tmp_path))} == LOOPS


@needs_tools
@pytest.mark.parametrize("many", [60, pytest.param(600, marks=pytest.mark.sweep)])
def test_of_random_flow_nearly_all_copies_are_those_of_ptxas(many, tmp_path):
    rng = np.random.default_rng(many)
    texts = [random_flow(rng) for _ in range(many)]
    same = sum(of_machine(text) == found for text, found in zip(texts, of_ptxas(texts, tmp_path)))
    assert same >= 0.85 * many


@pytest.mark.parametrize("alike", [False, True], ids=["apart", "together"])
@pytest.mark.parametrize("many", [40, pytest.param(400, marks=pytest.mark.sweep)])
def test_threads_come_by_the_same_blocks_where_loops_are_turned(alike, many, monkeypatch):
    rng, found, turned = np.random.default_rng(many), [], 0
    texts = [random_flow(rng) for _ in range(many)]
    for text in texts:
        body = module(to_run(text, alike), ["u64", "u32"])
        turned += bool(rotated(parse(body).functions["kernel"])[1])
    for step in (None, "simlayout.machine.ptx.passes.unrolled.rotated", "simlayout.machine.ptx.lowering.lower.unrolled"):
        found.append([])
        if step is not None:
            monkeypatch.setattr(step, (lambda function: (function, set())) if step.endswith("rotated") else lambda one: one)
        for text in texts:
            entry, array = ptx.load(module(to_run(text, alike), ["u64", "u32"])).entry(), np.ones(1 << 14, np.float32)
            entry.run(1, 32, array, 5, hazards="off")
            found[-1].append(array[:64].tobytes())
    assert found[0] == found[1] == found[2] and len({*found[0]}) > 0.5 * many and turned > 0.3 * many
