"""Where the elements of matrices are: fragments in registers, operands of wgmma, boxes of TMA."""
