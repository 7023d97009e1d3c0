"""Facts as tables, a source per row: instructions, architectures, tensor operations, rates; and who says so."""

from simlayout.hardware.tables.amd import CHIPS
from simlayout.hardware.tables.arch import ARCHES

ARCHES.update((chip.name, chip) for chip in CHIPS)
