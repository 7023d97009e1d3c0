"""What the GPU does with shared memory: instructions, banks, fragments, and the choice of ldmatrix."""

from simlayout.hardware.analysis import Analysis, analyze
from simlayout.hardware.arch import ARCHES, Arch, arch_of
from simlayout.hardware.fragments import FRAGMENTS, MMAS, QUAD_PAIR_MMAS, Fragment, Mma, QuadPairMma, fragment, mma_of
from simlayout.hardware.instructions import INSTRUCTIONS, Instruction, instruction
from simlayout.hardware.ldmatrix import LdmatrixChoice, choose_ldmatrix
from simlayout.hardware.provenance import Provenance
from simlayout.hardware.records import add_records
from simlayout.hardware.sparse import (
    SPARSE_MMAS,
    SparseMma,
    compress,
    expand,
    metadata_nibbles,
    metadata_registers,
    sparse_metadata,
    sparse_mma,
    stored_columns,
)
from simlayout.hardware.tensor import MMA_RATES, MmaRate, mma_clocks
from simlayout.hardware.tma import TensorMap
from simlayout.hardware.wgmma import Descriptor, OperandTile, fewest_clocks, operand_addresses, operand_wavefronts

__all__ = [
    "ARCHES", "Analysis", "Arch", "Descriptor", "FRAGMENTS", "Fragment", "INSTRUCTIONS", "Instruction", "LdmatrixChoice",
    "MMAS", "MMA_RATES", "Mma", "MmaRate", "OperandTile", "Provenance", "QUAD_PAIR_MMAS", "QuadPairMma", "SPARSE_MMAS",
    "SparseMma", "TensorMap", "add_records", "analyze", "arch_of", "choose_ldmatrix", "compress", "expand", "fewest_clocks",
    "fragment", "instruction", "metadata_nibbles", "metadata_registers", "mma_clocks", "mma_of", "operand_addresses",
    "operand_wavefronts", "sparse_metadata", "sparse_mma", "stored_columns",
]
