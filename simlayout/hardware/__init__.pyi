# What the names of this package are, for type checkers: it brings them when they are first used (simlayout.lazy).

from simlayout.hardware.banks.analysis import Analysis, analyze
from simlayout.hardware.banks.records import add_records
from simlayout.hardware.matrix.descriptor import Descriptor
from simlayout.hardware.matrix.diagnosis import Diagnosis, diagnose
from simlayout.hardware.matrix.fragments import FRAGMENTS, Fragment, fragment
from simlayout.hardware.matrix.instruction_descriptor import InstructionDescriptor, instruction_descriptors
from simlayout.hardware.matrix.ldmatrix import LdmatrixChoice, choose_ldmatrix
from simlayout.hardware.matrix.operand_k96 import OperandK96, k96_addresses
from simlayout.hardware.matrix.operand_tile import OperandTile, operand_addresses
from simlayout.hardware.matrix.scale_factors import ScalesInTmem, scale_id, scale_layout
from simlayout.hardware.matrix.scaled_mma import ScaleSource
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
from simlayout.hardware.matrix.sparse_tmem import MetadataInTmem
from simlayout.hardware.matrix.tma import TensorMap
from simlayout.hardware.matrix.tmem import TmemAddress, accumulator, tmem_allocation, tmem_copy, tmem_fragment
from simlayout.hardware.matrix.wgmma import fewest_clocks, operand_wavefronts
from simlayout.hardware.tables.arch import ARCHES, Arch, arch_of
from simlayout.hardware.tables.instructions import INSTRUCTIONS, Instruction, instruction
from simlayout.hardware.tables.mma import MMAS, QUAD_PAIR_MMAS, Mma, QuadPairMma, mma_of
from simlayout.hardware.tables.provenance import Provenance
from simlayout.hardware.tables.rates import MMA_RATES, MmaRate, mma_clocks

__all__ = [
    "ARCHES", "Analysis", "Arch", "Descriptor", "Diagnosis", "FRAGMENTS", "Fragment", "INSTRUCTIONS", "Instruction",
    "InstructionDescriptor", "LdmatrixChoice", "MMAS", "MMA_RATES", "MetadataInTmem", "Mma", "MmaRate", "OperandK96",
    "OperandTile", "Provenance", "QUAD_PAIR_MMAS", "QuadPairMma", "SPARSE_MMAS", "ScaleSource", "ScalesInTmem", "SparseMma",
    "TensorMap", "TmemAddress", "accumulator", "add_records", "analyze", "arch_of", "choose_ldmatrix", "compress",
    "diagnose", "expand", "fewest_clocks", "fragment", "instruction", "instruction_descriptors", "k96_addresses",
    "metadata_nibbles", "metadata_registers", "mma_clocks", "mma_of", "operand_addresses", "operand_wavefronts", "scale_id",
    "scale_layout", "sparse_metadata", "sparse_mma", "stored_columns", "tmem_allocation", "tmem_copy", "tmem_fragment",
]
