"""What the GPU does with shared memory: instructions, banks, fragments, and the choice of ldmatrix."""

from simlayout.hardware.analysis import Analysis, analyze
from simlayout.hardware.arch import ARCHES, Arch, arch_of
from simlayout.hardware.fragments import FRAGMENTS, MMAS, Fragment, Mma, fragment, mma_of
from simlayout.hardware.instructions import INSTRUCTIONS, Instruction, instruction
from simlayout.hardware.ldmatrix import LdmatrixChoice, choose_ldmatrix
from simlayout.hardware.provenance import Provenance
from simlayout.hardware.tensor import MMA_RATES, MmaRate, mma_clocks

__all__ = [
    "ARCHES", "FRAGMENTS", "INSTRUCTIONS", "MMAS", "MMA_RATES", "Analysis", "Arch", "Fragment", "Instruction",
    "LdmatrixChoice", "Mma", "MmaRate", "Provenance", "analyze", "arch_of", "choose_ldmatrix", "fragment",
    "instruction", "mma_clocks", "mma_of",
]
