"""Every lane-wise instruction of the machine's table against the GPU, operand by operand.

    python -m cuda_kernels.conformance.opcodes --json FILE [--only PATTERN ...] [--seed N]

`forms` lists what is compared, `operands` makes what it is compared on, `text` writes a kernel for each in PTX, `device`
runs them, `judge` compares their results with the table's, `record` is the file, and `again` compares it with the table of
another day. It needs the CUDA driver and NumPy alone.
"""
