"""The kernels for Hopper: TMA brings the operands; wgmma, or mma.sync, multiplies them."""
