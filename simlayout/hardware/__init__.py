"""What the GPU does with shared memory: instructions, banks, fragments, and the choice of ldmatrix."""

from simlayout.lazy import when_used

_MODULES = {
    "banks": (),
    "matrix": (),
    "tables": (),
    "banks.analysis": ("Analysis", "analyze"),
    "banks.records": ("add_records",),
    "matrix.descriptor": ("Descriptor",),
    "matrix.diagnosis": ("Diagnosis", "diagnose"),
    "matrix.fragments": ("FRAGMENTS", "Fragment", "fragment"),
    "matrix.instruction_descriptor": ("InstructionDescriptor", "instruction_descriptors"),
    "matrix.ldmatrix": ("LdmatrixChoice", "choose_ldmatrix"),
    "matrix.operand_k96": ("OperandK96", "k96_addresses"),
    "matrix.operand_tile": ("OperandTile", "operand_addresses"),
    "matrix.scale_factors": ("ScalesInTmem", "scale_id", "scale_layout"),
    "matrix.scaled_mma": ("ScaleSource",),
    "matrix.sparse": ("SPARSE_MMAS", "SparseMma", "compress", "expand", "metadata_nibbles", "metadata_registers",
                      "sparse_metadata", "sparse_mma", "stored_columns"),
    "matrix.sparse_tmem": ("MetadataInTmem",),
    "matrix.tma": ("TensorMap",),
    "matrix.tmem": ("TmemAddress", "accumulator", "tmem_allocation", "tmem_copy", "tmem_fragment"),
    "matrix.wgmma": ("fewest_clocks", "operand_wavefronts"),
    "tables.arch": ("ARCHES", "Arch", "arch_of"),
    "tables.instructions": ("INSTRUCTIONS", "Instruction", "instruction"),
    "tables.mma": ("MMAS", "QUAD_PAIR_MMAS", "Mma", "QuadPairMma", "mma_of"),
    "tables.provenance": ("Provenance",),
    "tables.rates": ("MMA_RATES", "MmaRate", "mma_clocks"),
}
"""The modules of the package, each with the names that bring it when they are first used."""

__getattr__, __dir__, __all__ = when_used(__name__, _MODULES)
