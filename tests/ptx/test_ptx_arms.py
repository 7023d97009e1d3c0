"""What ptxas makes of loads in the arms of branches: pattern after pattern, and at random."""

from random import Random
from time import process_time

import numpy as np
import pytest
from machine_code import needs_tools
from passes_left_out import stored
from ptx_texts import module
from random_arms import body, of_machine, of_ptxas, random_arms

from simlayout import ptx
from simlayout.machine.ptx.passes import made

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
PREDICATED = {
    "? { N256 } ? { K } N256": "LDG 4 STG 1", "? { N256 } ? { Z } N256": "LDG 5 STG 1",
    "? { N256 } ? { Z N256 } N256": "LDG 6 STG 1", "? { N256 } ? { N256 } N256": "LDG 3 STG 1",
    "? { N256 } { K } ? { K } { N256 }": "LDG 5 STG 1", "? { N256 S0 } { S4 N256 }": "LDG 4 STG 1 STS 2",
    "? { N256 N384 } { N384 N256 }": "LDG 3 STG 1", "? { N256 N384 } { N384 N256 } N512 N384": "LDG 4 STG 1",
    "? { K K K N256 } { N256 }": "LDG 4 STG 1", "? { K K K K N256 } { N256 } N512": "LDG 5 STG 1",
    "? { K K K K K K K K K N256 } { N256 K K } N512": "LDG 6 STG 1", "? { N256 } { ? { N256 } }": "LDG 3 STG 1",
    "N256 Z ? { N256 }": "LDG 4 STG 1", "? { Z } ? { N256 } { N256 }": "LDG 4 STG 1",
    "? { N256 } K W128 K N256": "LDG 4 STG 2", "? { N256 } B N256": "LDG 2 STG 1", "? { N256 } { W256 } N256": "LDG 3 STG 2",
    "? { W128 } ? { G256 } { G256 }": "LDG 4 STG 2", "? { G256 } W128 G256": "LDG 4 STG 2",
    "? { G256 } { W128 } G256": "LDG 4 STG 2", "? { W128 } { G256 } G256": "LDG 4 STG 2",
    "? { G256 W128 } { G256 }": "LDG 4 STG 2", "? { W128 G256 } { G256 }": "LDG 4 STG 2",
    "? { G256 } { W128 G256 }": "LDG 4 STG 2", "G0 W128 ? { G256 } { G256 }": "LDG 4 STG 2",
    "G0 W128 ? { G4 } { G4 }": "LDG 4 STG 2", "B ? { L12 } { L12 } L0": "LDG 1 LDS 3 STG 1",
    "B ? { L12 } { L12 } L512": "LDG 1 LDS 3 STG 1", "B ? { L12 } { W128 L12 }": "LDG 2 LDS 2 STG 2",
    "B ? { L12 } { W128 L12 } L0": "LDG 2 LDS 3 STG 2", "B ? { L12 } { W128 L12 } L512": "LDG 2 LDS 3 STG 2",
    "S4 ? { L12 } { W128 L12 } L0": "LDG 2 LDS 3 STG 2 STS 1", "B S4 ? { L12 } { L12 } L0": "LDG 2 LDS 3 STG 1 STS 1",
    "B L512 S4 ? { L12 } { L12 } L0": "LDG 2 LDS 4 STG 1 STS 1",
    "B ? { S4 Z } { ? { L12 } { L12 } L0 }": "LDG 3 LDS 2 STG 1 STS 1",
    "B ? { S4 Z } { ? { L12 } { L12 } }": "LDG 3 LDS 1 STG 1 STS 1",
    "B ? { L4 S4 Z } { ? { L12 } { L12 } }": "LDG 3 LDS 2 STG 1 STS 1",
    "B ? { S512 Z } { ? { L12 } { L12 } }": "LDG 3 LDS 1 STG 1 STS 1",
    "B ? { L512 Z } { ? { L12 } { L12 } }": "LDG 3 LDS 2 STG 1", "B ? { L512 Z } { ? { L12 } L12 }": "LDG 3 LDS 2 STG 1",
    "B ? { Z } { ? { L12 } { L12 } }": "LDG 3 LDS 1 STG 1", "B ? { Z } { ? { L12 } L12 }": "LDG 3 LDS 1 STG 1",
    "B ? { ? { L12 } { L12 } } { Z }": "LDG 3 LDS 1 STG 1", "B ? { ? { L12 } { L12 } }": "LDG 1 LDS 1 STG 1",
    "B ? { Z W256 } ? { L12 } { L12 }": "LDG 3 LDS 1 STG 2", "B ? { K } ? { L12 } { L12 }": "LDG 3 LDS 2 STG 1",
    "B ? { W128 } ? { L12 } { L12 }": "LDG 2 LDS 2 STG 2", "B ? { L512 } ? { L12 } { L12 }": "LDG 1 LDS 3 STG 1",
    "? { Z } B ? { L8 } { L8 }": "LDG 3 LDS 1 STG 1", "? { Z } B ? { L8 } { L8 } B": "LDG 3 LDS 1 STG 1",
    "? { Z S512 } B ? { L8 } { L8 }": "LDG 3 LDS 1 STG 1 STS 1", "S8 ? { Z } B ? { L8 } { L8 }": "LDG 3 LDS 1 STG 1 STS 1",
    "S8 ? { Z S512 } B ? { L8 } { L8 }": "LDG 3 LDS 1 STG 1 STS 2",
    "S8 ? { Z S512 } B ? { L8 } { N256 L8 } B": "LDG 4 LDS 1 STG 1 STS 2",
    "? { Z } S512 ? { L8 } { L8 }": "LDG 3 LDS 1 STG 1 STS 1", "? { Z } W128 ? { G256 } { G256 }": "LDG 4 STG 2",
    "S0 ? { Z L12 S4 } B ? { N384 L0 } { L0 } B": "LDG 4 LDS 2 STG 1 STS 2",
    "S0 ? { Z S4 } B ? { N384 L0 } { L0 } B": "LDG 4 LDS 1 STG 1 STS 2",
    "? { Z S4 } B ? { N384 L0 } { L0 } B": "LDG 4 LDS 1 STG 1 STS 1", "? { Z } ? { W128 G256 } { G256 }": "LDG 5 STG 2",
    "? { Z } ? { G256 } { W128 G256 }": "LDG 5 STG 2", "? { Z } ? { G256 W128 } { G256 }": "LDG 5 STG 2",
    "? { Z } ? { S512 L8 } { L8 }": "LDG 3 LDS 2 STG 1 STS 1", "? { Z } ? { L8 } { S512 L8 }": "LDG 3 LDS 2 STG 1 STS 1",
    "? { Z } ? { L8 S512 } { L8 }": "LDG 3 LDS 2 STG 1 STS 1", "? { Z } ? { L8 } { L8 S512 }": "LDG 3 LDS 1 STG 1 STS 1",
    "? { Z } ? { L8 } { L8 S512 } B": "LDG 3 LDS 1 STG 1 STS 1", "? { Z } ? { L8 } { S512 } L8": "LDG 3 LDS 2 STG 1 STS 1",
    "? { Z } ? { S512 } { L8 } L8": "LDG 3 LDS 2 STG 1 STS 1",
    "? { Z } ? { S512 } ? { L8 } { L8 }": "LDG 3 LDS 2 STG 1 STS 1",
    "? { Z } ? { S512 } ? { L8 } L8": "LDG 3 LDS 2 STG 1 STS 1",
    "? { Z } B ? { S512 } ? { L8 } L8": "LDG 3 LDS 2 STG 1 STS 1",
    "? { Z } B S512 ? { L8 } L8 S1024 ? { L8 } L8": "LDG 3 LDS 3 STG 1 STS 2",
    "? { Z } B S512 ? { L8 } L8 S1024 ? { L8 } { L8 }": "LDG 3 LDS 3 STG 1 STS 2",
    "? { Z } B S512 ? { L8 } { L12 } S1024 ? { L8 } { L8 }": "LDG 3 LDS 4 STG 1 STS 2",
    "? { Z } B ? { L8 } B ? { L8 } { L8 }": "LDG 3 LDS 3 STG 1", "? { M256 } { M256 }": "LDG 2 STG 1",
    "? { M256 } { W128 N256 }": "LDG 3 STG 2", "? { N256 } { M256 }": "LDG 2 STG 1", "? { M256 } M256": "LDG 2 STG 1",
    "? { A8 } { A8 }": "LDG 1 LDS 1 STG 1", "? { A8 } { L8 S0 }": "LDG 2 LDS 1 STG 1 STS 1",
    "? { S0 L8 } { A8 }": "LDG 2 LDS 2 STG 1 STS 1", "? { K K A8 } { K A8 K }": "LDG 3 LDS 1 STG 1",
    "S512 ? { L0 L0 L0 L0 L0 } ? { L8 } L8": "LDG 2 LDS 3 STG 1 STS 1",
    "? { L8 L0 L0 L0 L0 } { L8 } L8": "LDG 1 LDS 2 STG 1",
    "? { L0 L0 L0 L0 L0 } { L0 } L0": "LDG 1 LDS 1 STG 1",
    "? { A8 A12 } { A12 A8 }": "LDG 1 LDS.64 1 STG 1", "D8 V0 ? { V8 D0 }": "LDG 1 LDS.128 2 STG 1",
    "D0 L0 ? { D0 } { L0 L8 } D8 L4": "LDG 1 LDS.128 2 STG 1", "D0 D8 ? { D8 D0 } { D0 } D8": "LDG 1 LDS.128 1 STG 1",
    "? { D0 D8 } { V8 V0 }": "LDG 1 LDS.128 2 STG 1",
}
"""Text whose branches ptxas puts under predicates, but for those around Z -> its accesses, and how many of each."""
LOADS, STORES = ["L0", "L4", "L8", "L12", "L16", "L512", "K"], ["S0", "S4", "S8", "S512"]


def told(made, kinds="SG"):
    return " ".join(f"{name} {many}" for name, many in sorted(made.items()) if name[2] in kinds)


@pytest.mark.parametrize("text", SHARED)
def test_loads_of_shared_memory_in_arms_count_as_what_they_become(text):
    assert told(of_machine(text), "S") == SHARED[text]


@pytest.mark.parametrize("text", PREDICATED)
def test_equal_loads_under_predicates_count_as_one(text):
    assert told(of_machine(text)) == PREDICATED[text]


@needs_tools
def test_ptxas_makes_so_many_accesses_of_arms(tmp_path):
    theirs = of_ptxas([*SHARED, *PREDICATED], tmp_path)
    assert {text: told(theirs[text], "S") for text in SHARED} == SHARED
    assert {text: told(theirs[text]) for text in PREDICATED} == PREDICATED


@pytest.mark.parametrize("seed", range(12))
def test_loads_that_come_ahead_of_a_branch_load_what_they_would_load_behind_it(seed):
    random = Random(seed)
    text = random_arms(random, [*LOADS, *STORES, "N256", "M256", "M256", "A8", "A8", "G512", "W512"])
    numbers = np.random.default_rng(seed).integers(0, 2**32, 8192).astype(np.uint32)
    leave = made, "once", lambda function, *_: (function.body, set())
    assert np.array_equal(*stored(module(body(text), ["u64", "u32"]), 64, numbers, 7, *leave))


def took(code):
    """Seconds in which the entry of an instruction sequence is prepared."""
    text = module(".shared .align 16 .b8 s[65536]; mov.u32 %r4, s; ld.param.u64 %rd1, [kernel_param_0]; mov.u32 %r7, 0; "
                  f"{code}st.global.u32 [%rd1], %r7; ret;", ["u64"])
    started = process_time()
    ptx.load(text).entry()
    return process_time() - started


def test_eight_times_as_many_loads_of_a_text_without_branches_take_about_eight_times_as_long_to_prepare():
    def loads(many):
        return "".join(f"ld.shared.u32 %r8, [%r4+{12 * i}]; add.u32 %r7, %r7, %r8; " for i in range(many))

    assert min(took(loads(4000)) for _ in range(3)) < 14 * min(took(loads(500)) for _ in range(5))        # was 22 times


def test_four_times_as_many_branches_with_two_arms_take_at_most_with_the_square_of_their_number_to_prepare():
    def branches(many):
        return "".join(f"setp.gt.u32 %p1, %r4, {i}; @%p1 bra E{i}; ld.shared.u32 %r8, [%r4+{128 * i}]; bra M{i}; "
                       f"E{i}: ld.shared.u32 %r8, [%r4+{128 * i + 64}]; M{i}: add.u32 %r7, %r7, %r8; " for i in range(many))

    assert took(branches(240)) < 24 * min(took(branches(60)) for _ in range(3))                           # was 46 times


@needs_tools
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.sweep) for seed in (1, 2, 3))])
def test_nineteen_of_twenty_random_texts_with_branches_are_counted_as_ptxas_makes_them(seed, tmp_path):
    random = Random(seed)
    texts = [random_arms(random, 2 * LOADS + STORES, "B", "Z") for _ in range(120)]
    theirs = of_ptxas(texts, tmp_path)
    assert sum(of_machine(text) != theirs[text] for text in texts) <= 6
