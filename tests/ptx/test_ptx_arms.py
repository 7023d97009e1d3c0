"""What ptxas makes of loads in the arms of branches: pattern after pattern, and at random."""

from random import Random

import pytest
from machine_code import needs_tools
from random_arms import of_machine, of_ptxas, random_arms

SHARED = {
    "L8 ? { Z F } { Z L8 }": "LDS 2", "B L8 ? { F K } { L8 }": "LDS 2", "L8 ? { S2048 } { L8 }": "LDS 2 STS 1",
    "L8 ? { L8 } { S2048 }": "LDS 1 STS 1", "L8 ? { S2048 L8 } { L8 }": "LDS 3 STS 1",
    "L8 ? { Z S2048 } { Z L8 }": "LDS 2 STS 1", "L8 ? { Z L8 } { Z S2048 }": "LDS 1 STS 1", "B ? { L8 } { L8 } L8": "LDS 2",
    "B ? { Z L8 } { Z L8 } L8": "LDS 2", "B ? { Z S8 } { Z S8 } L8": "LDS 1 STS 2",
    "B ? { Z S8 } { Z L8 } L8": "LDS 1 STS 1", "B S8 ? { Z L8 } { Z L8 }": "STS 1",
    "B S8 ? { Z S2048 } { Z L8 }": "LDS 1 STS 2", "B ? { Z L0 } { Z L0 } L0": "LDS 2",
    "B ? { Z L8 } { ? { Z L8 } { Z L8 } } L8": "LDS 3", "B ? { Z L8 } { ? { Z L8 } { Z S512 } } L8": "LDS 3 STS 1",
    "B ? { Z L8 } { ? { Z S512 } { Z L8 } } L8": "LDS 3 STS 1", "B ? { Z L8 } { ? { Z } L8 } L8": "LDS 2",
    "B L8 ? { ? { Z S512 } } { Z L8 }": "LDS 2 STS 1", "B L8 ? { Z L8 } { ? { Z S512 } { Z L8 } } L8": "LDS 3 STS 1",
    "B L8 ? { ? { Z L8 } { Z S512 } } { Z L8 } L8": "LDS 3 STS 1", "B L8 ? { Z W512 } { Z L8 } L8": "LDS 1",
    "B ? { Z L8 L4 } { Z L4 L8 } L4 L8": "LDS 4", "B ? { Z L8 L4 } { Z L4 L8 } L8 S8 L4": "LDS 5 STS 1",
    "B ? { Z L8 S4 } { Z L8 L4 } L4": "LDS 3 STS 1", "B ? { Z S4 L8 } { Z L8 L4 } L4": "LDS 3 STS 1",
    "B ? { Z S4 S8 } { Z L8 L4 } L4": "LDS 3 STS 2", "B ? { Z L4 } { Z S4 } L4": "LDS 2 STS 1",
    "B L12 ? { Z L4 } ? { Z L4 }": "LDS 2", "B L12 ? { Z L4 } L4": "LDS 2", "B L12 ? { Z L4 } Z L4": "LDS 2",
    "B L12 ? { Z L4 } { Z L8 } L4": "LDS.128 1", "L0 ? { Z L4 } L8 L12": "LDS.128 1",
    "L0 ? { Z L4 } { Z L8 L12 }": "LDS.128 1", "L0 ? { Z L12 } { Z L8 L12 }": "LDS.128 1",
    "B L0 ? { Z L8 L12 }": "LDS.128 1", "B L0 ? { Z L8 L12 } { Z L8 }": "LDS.128 1",
    "B L0 ? { Z L8 L12 } { Z L8 L12 }": "LDS.128 1", "B L0 ? { Z L8 L12 } { Z L12 L8 } L8": "LDS.128 1",
    "B L0 L4 ? { Z L8 L12 } { Z L12 L8 } L8": "LDS.128 1", "B L0 L4 ? { Z L8 } { Z L12 L8 } L8": "LDS.128 1",
    "B L0 L4 ? { Z L8 } { Z L8 }": "LDS.128 1", "B L0 L4 ? { Z L8 } { Z L12 }": "LDS.128 1",
    "B L0 ? { Z L24 } L16 ? { Z L4 }": "LDS 2 LDS.64 1", "B ? { Z L20 } L16 ? { Z L4 }": "LDS 3",
    "B ? { Z L12 } L16 L0 ? { Z L4 L20 }": "LDS 3 LDS.64 1", "B ? { Z L12 } L16 L0 ? { Z L4 } { L20 }": "LDS 3 LDS.64 1",
    "B L0 ? { Z S512 } L4": "LDS 2 STS 1", "B L0 ? { Z S512 } L4 ? { L8 }": "LDS 3 STS 1",
    "B L0 ? { Z S512 L4 } { Z L8 ? { L12 } }": "LDS 4 STS 1",
    "B L0 ? { Z L8 } S512 L4 ? { L8 } L12": "LDS 2 LDS.128 1 STS 1", "B L0 ? { S512 } { Z L8 } L4": "LDS 3 STS 1",
    "B L8 ? { L4 } S512 L4 ? { L0 }": "LDS 2 LDS.64 1 STS 1", "B ? { L4 } S512 L4 ? { L0 }": "LDS 1 LDS.64 1 STS 1",
    "B ? { L8 } { ? { L4 } { L0 } } L4": "LDS 3 LDS.64 1", "B ? { Z L8 } { ? { Z L4 } { Z L0 } } L4": "LDS 3 LDS.64 1",
    "B ? { Z L0 } { Z L8 } ? { Z L4 } L0": "LDS 4", "B ? { Z L0 } { Z L8 } L4 ? { Z L12 }": "LDS 4",
    "B ? { Z L0 } { Z L8 } L4 L0": "LDS 4", "B ? { Z L0 } { Z L8 } L4 L0 L12": "LDS 5",
    "B ? { Z L0 } { Z L8 } L8 L0 L12": "LDS 5", "B ? { Z L0 L4 } { Z L8 } L8 L0": "LDS 2 LDS.128 1",
    "B ? { Z L0 L4 } { Z L8 } L0": "LDS 2 LDS.64 1", "B ? { Z L0 L4 } { Z L8 } L4 L12": "LDS 3 LDS.64 1",
    "B L4 ? { Z S512 L0 } { Z L8 } L0": "LDS 4 STS 1", "B L4 ? { Z L0 } { Z S512 L8 } L0": "LDS 2 LDS.64 1 STS 1",
    "B ? { Z L8 } { Z W512 } L0 ? { Z L4 } L4": "LDS 4", "B ? { Z S8 } { Z L4 } L8": "LDS 2 STS 1",
    "B ? { Z L4 } { Z S8 } L8": "LDS 2 STS 1", "B ? { Z L0 } { Z S8 } L0": "LDS 2 STS 1",
    "B ? { Z S8 L12 } { Z L4 } L8": "LDS 3 STS 1", "B ? { Z S8 L12 } { Z L12 } L8": "LDS 1 LDS.64 1 STS 1",
    "B ? { Z S8 } { Z L12 } L8": "LDS.64 1 STS 1", "B ? { Z L0 Z L4 } { Z L8 } L4": "LDS 2 LDS.64 1",
    "B ? { Z L0 } { Z L8 } L0 L8": "LDS 4", "B ? { Z L0 ? { Z L4 } } { Z L8 } L4": "LDS 2 LDS.64 1",
    "B L8 S512 ? { Z L0 } { Z L8 } L0": "LDS 4 STS 1", "B ? { Z L0 } { Z L8 } ? { Z L0 } { Z L8 }": "LDS 4",
    "B ? { Z L0 } { Z L8 } ? { Z L0 } { Z S512 } L8": "LDS 4 STS 1",
    "B ? { Z L0 } { Z L8 } ? { Z S512 } { Z L0 }": "LDS 3 STS 1",
    "B ? { Z L0 } { Z L8 } ? { Z S512 L16 } { Z L0 } L0": "LDS 5 STS 1", "B ? { Z L0 } { Z L4 } S512 L0": "LDS 3 STS 1",
    "B ? { Z L0 } { Z L24 } L0": "LDS 3", "B ? { Z L0 } { Z L1024 } L0": "LDS 3", "B ? { Z L16 } { Z L24 } L16": "LDS 3",
    "B ? { Z L0 L16 } { Z L4 } L16 L0": "LDS 3 LDS.64 1", "B ? { ? { Z L0 } { Z L4 } L8 } { Z L0 } L8": "LDS 5",
    "B ? { ? { Z L0 } { Z L4 } L0 } { Z L8 } L4": "LDS 2 LDS.64 2", "B ? { L0 L12 } { L4 } L0 L8 L12": "LDS 3 LDS.128 1",
    "B L4 ? { Z L0 } { Z L8 } L0": "LDS.128 1", "B L4 ? { Z S512 L0 } { Z L12 } L0": "LDS 4 STS 1",
    "S8 L2052 ? { L0 ? { L4 } }": "LDS 3 STS 1", "S8 ? { L0 ? { L4 } }": "LDS 2 STS 1",
    "S8 ? { Z L0 ? { L4 } }": "LDS 2 STS 1", "S8 ? { Z L0 ? { Z L4 } }": "LDS 2 STS 1",
    "S8 ? { L0 ? { Z L4 } }": "LDS 2 STS 1", "B ? { L0 ? { L4 } }": "LDS.64 1", "B ? { L0 ? { L4 } } S8": "LDS.64 1 STS 1",
    "B ? { L0 ? { L4 } { W512 } } S8": "LDS.64 1 STS 1", "? { L0 ? { L4 } } S8": "LDS.64 1 STS 1",
    "? { L0 ? { L4 } }": "LDS.64 1", "S24 ? { L0 ? { L4 } }": "LDS.64 1 STS 1", "S8 B ? { L0 ? { L4 } }": "LDS.64 1 STS 1",
    "B S8 L4 ? { L8 } L0": "LDS 2 STS 1", "B S12 L4 ? { L0 } L0": "LDS 3 STS 1",
    "B S12 ? { L4 } { L4 L0 } L0": "LDS 2 LDS.64 1 STS 1", "B S0 ? { Z L4 } { Z L4 }": "LDS 2 STS 1",
    "B S0 L8 ? { Z L4 } { Z L4 }": "LDS 3 STS 1", "B ? { Z S0 } { Z L8 } L4 ? { Z L12 }": "LDS 3 STS 1",
    "B ? { Z S0 } { Z L8 } L4 L0": "LDS 3 STS 1", "B ? { Z S0 L12 } { Z L8 } L8": "LDS 3 STS 1",
    "B S8 ? { Z L0 } { Z L4 } L0": "LDS 1 LDS.64 1 STS 1", "B ? { L4 } { L4 L0 } L0": "LDS.64 2",
    "B ? { Z L4 } { Z L4 L0 } L0": "LDS.64 2", "B S12 ? { Z L4 } { Z L4 L0 } L0": "LDS 2 LDS.64 1 STS 1",
    "B S12 ? { Z L4 } { Z L0 } L0": "LDS 3 STS 1", "B S12 ? { Z L4 } { Z K L0 } L0": "LDS 3 STS 1",
    "B S512 ? { Z L4 } { Z L4 L0 } L0": "LDS.64 2 STS 1", "B S28 ? { Z L4 } { Z L4 L0 } L0": "LDS.64 2 STS 1",
    "B ? { Z S512 L12 } { Z L8 } L8": "LDS 1 LDS.64 1 STS 1", "B ? { Z S0 L12 } { Z L8 } L12": "LDS 1 LDS.64 1 STS 1",
    "B ? { Z S8 L12 } { Z L8 } L12": "LDS 1 LDS.64 1 STS 1", "B ? { Z L12 } { Z L8 } L8": "LDS 1 LDS.64 1",
    "B S0 ? { Z L12 } { Z L8 } L8": "LDS 3 STS 1", "B S0 ? { Z L12 } { Z L8 } L12": "LDS 1 LDS.64 1 STS 1",
    "B S0 ? { Z L8 } { Z L12 } L8": "LDS 1 LDS.64 1 STS 1", "B S0 ? { Z L8 } { Z L12 } L12": "LDS 3 STS 1",
    "B S0 ? { Z L8 } { Z L4 } L8": "LDS 3 STS 1", "B S0 ? { Z L8 } { Z L4 } L4": "LDS 3 STS 1",
    "B S16 ? { Z L8 } { Z L4 } L4": "LDS 3 STS 1", "B ? { Z L8 } { Z L4 } L4": "LDS 3",
    "B S8 ? { Z L4 } { Z L0 } L0": "LDS 3 STS 1", "B S8 ? { Z L0 } { Z L4 } L4": "LDS 3 STS 1",
    "B S8 ? { Z L4 } { Z L0 } L4": "LDS 1 LDS.64 1 STS 1", "B ? { Z L0 } L4 ? { Z L0 }": "LDS 1 LDS.64 1",
    "B ? { Z L0 } L4 ? { Z L0 } L0": "LDS 1 LDS.64 1", "B ? { Z L0 } L4 ? { Z K } L0": "LDS 1 LDS.64 1",
    "B ? { Z L0 } { Z L4 ? { Z L0 } }": "LDS 1 LDS.64 1", "B ? { Z S0 } { Z L4 ? { Z L0 } }": "LDS.64 1 STS 1",
    "B ? { Z S0 } L4 ? { Z L0 }": "LDS.64 1 STS 1", "B ? { Z L0 } { ? { Z L4 } { Z L8 } ? { Z L0 } }": "LDS 3 LDS.64 1",
    "B ? { Z L0 } { ? { Z L4 } { Z L0 } ? { Z L8 } }": "LDS 4",
    "B ? { Z L8 L0 } { ? { Z L4 } { Z L12 } ? { Z L8 } }": "LDS 4 LDS.64 1",
    "B ? { Z L0 } L4 ? { Z L8 } L0": "LDS 2 LDS.64 1", "B ? { Z L0 } L4 ? { Z L8 } L8": "LDS 4",
    "B ? { Z L0 } L4 ? { Z L8 } { Z L0 L8 }": "LDS 3 LDS.64 1",
    "B ? { Z L0 } L4 ? { Z L8 } { Z L0 L8 } L8": "LDS 3 LDS.64 1",
    "B ? { Z L0 } ? { Z L4 ? { Z L8 } { Z L0 } }": "LDS 2 LDS.64 1",
    "B ? { Z L0 L8 } ? { Z L4 ? { Z L8 } { Z L0 } L12 }": "LDS 3 LDS.128 1",
    "B ? { Z L0 L8 L12 } ? { Z L4 ? { Z L8 } { Z L0 } L12 }": "LDS.128 2",
}
"""Text, as `random_arms` has it -> its accesses of shared memory, and how many there are of each."""
LOADS, STORES = ["L0", "L4", "L8", "L12", "L16", "L512", "K"], ["S0", "S4", "S8", "S512"]


def shared(made):
    return " ".join(f"{name} {many}" for name, many in sorted(made.items()) if name[2] == "S")


@pytest.mark.parametrize("text", SHARED)
def test_loads_of_shared_memory_in_arms_count_as_what_they_become(text):
    assert shared(of_machine(text)) == SHARED[text]


@needs_tools
def test_ptxas_makes_so_many_accesses_of_arms(tmp_path):
    assert {text: shared(made) for text, made in of_ptxas(SHARED, tmp_path).items()} == SHARED


@needs_tools
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.sweep) for seed in (1, 2, 3))])
def test_nineteen_of_twenty_random_texts_with_branches_are_counted_as_ptxas_makes_them(seed, tmp_path):
    random = Random(seed)
    texts = [random_arms(random, 2 * LOADS + STORES, "B", "Z") for _ in range(120)]
    made = of_ptxas(texts, tmp_path)
    assert sum(of_machine(text) != made[text] for text in texts) <= 6
