# The names of this package, and where they come from: for type checkers, and for `simlayout.lazy`.

from simlayout.hardware.banks.analysis import Analysis as Analysis, analyze as analyze
from simlayout.hardware.banks.records import add_records as add_records
from simlayout.hardware.matrix.descriptor import Descriptor as Descriptor
from simlayout.hardware.matrix.diagnosis import Diagnosis as Diagnosis, diagnose as diagnose
from simlayout.hardware.matrix.fragments import FRAGMENTS as FRAGMENTS, Fragment as Fragment, fragment as fragment
from simlayout.hardware.matrix.instruction_descriptor import (
    InstructionDescriptor as InstructionDescriptor, instruction_descriptors as instruction_descriptors
)
from simlayout.hardware.matrix.ldmatrix import LdmatrixChoice as LdmatrixChoice, choose_ldmatrix as choose_ldmatrix
from simlayout.hardware.matrix.operand_k96 import OperandK96 as OperandK96, k96_addresses as k96_addresses
from simlayout.hardware.matrix.operand_tile import OperandTile as OperandTile, operand_addresses as operand_addresses
from simlayout.hardware.matrix.scale_factors import (
    ScalesInTmem as ScalesInTmem, scale_id as scale_id, scale_layout as scale_layout
)
from simlayout.hardware.matrix.scaled_mma import ScaleSource as ScaleSource
from simlayout.hardware.matrix.sparse import (
    compress as compress, expand as expand, metadata_nibbles as metadata_nibbles, metadata_registers as metadata_registers,
    sparse_metadata as sparse_metadata, sparse_mma as sparse_mma, stored_columns as stored_columns
)
from simlayout.hardware.matrix.sparse_tmem import MetadataInTmem as MetadataInTmem
from simlayout.hardware.matrix.tma import TensorMap as TensorMap
from simlayout.hardware.matrix.tmem import (
    TmemAddress as TmemAddress, accumulator as accumulator, tmem_allocation as tmem_allocation, tmem_copy as tmem_copy,
    tmem_fragment as tmem_fragment
)
from simlayout.hardware.matrix.wgmma import fewest_clocks as fewest_clocks, operand_wavefronts as operand_wavefronts
from simlayout.hardware.tables.arch import ARCHES as ARCHES, Arch as Arch, arch_of as arch_of
from simlayout.hardware.tables.instructions import (
    INSTRUCTIONS as INSTRUCTIONS, Instruction as Instruction, instruction as instruction
)
from simlayout.hardware.tables.mma import (
    MMAS as MMAS, QUAD_PAIR_MMAS as QUAD_PAIR_MMAS, Mma as Mma, QuadPairMma as QuadPairMma, mma_of as mma_of
)
from simlayout.hardware.tables.mma_sp import (
    SPARSE_MMAS as SPARSE_MMAS, SparseMma as SparseMma, SparseWgmma as SparseWgmma
)
from simlayout.hardware.tables.provenance import Provenance as Provenance
from simlayout.hardware.tables.rates import MMA_RATES as MMA_RATES, MmaRate as MmaRate, mma_clocks as mma_clocks
