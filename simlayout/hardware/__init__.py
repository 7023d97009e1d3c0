"""What the GPU does with shared memory: instructions, banks, fragments, and the choice of ldmatrix."""

from simlayout.hardware.banks.analysis import Analysis, analyze
from simlayout.hardware.banks.records import add_records
from simlayout.hardware.matrix.descriptor import Descriptor
from simlayout.hardware.matrix.fragments import FRAGMENTS, Fragment, fragment
from simlayout.hardware.matrix.ldmatrix import LdmatrixChoice, choose_ldmatrix
from simlayout.hardware.matrix.operand_tile import OperandTile, operand_addresses
from simlayout.hardware.matrix.sparse import (
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
from simlayout.hardware.matrix.tma import TensorMap
from simlayout.hardware.matrix.wgmma import fewest_clocks, operand_wavefronts
from simlayout.hardware.tables.arch import ARCHES, Arch, arch_of
from simlayout.hardware.tables.instructions import INSTRUCTIONS, Instruction, instruction
from simlayout.hardware.tables.mma import MMAS, QUAD_PAIR_MMAS, Mma, QuadPairMma, mma_of
from simlayout.hardware.tables.provenance import Provenance
from simlayout.hardware.tables.rates import MMA_RATES, MmaRate, mma_clocks

__all__ = [
    "ARCHES", "Analysis", "Arch", "Descriptor", "FRAGMENTS", "Fragment", "INSTRUCTIONS", "Instruction", "LdmatrixChoice",
    "MMAS", "MMA_RATES", "Mma", "MmaRate", "OperandTile", "Provenance", "QUAD_PAIR_MMAS", "QuadPairMma", "SPARSE_MMAS",
    "SparseMma", "TensorMap", "add_records", "analyze", "arch_of", "choose_ldmatrix", "compress", "expand", "fewest_clocks",
    "fragment", "instruction", "metadata_nibbles", "metadata_registers", "mma_clocks", "mma_of", "operand_addresses",
    "operand_wavefronts", "sparse_metadata", "sparse_mma", "stored_columns",
]
