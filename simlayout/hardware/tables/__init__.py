"""Facts as tables, a source per row: instructions, architectures, tensor operations, rates; and who says so."""
