"""Where matrix instructions have their elements, measured on a GPU beside what the model says.

    python -m cuda_kernels.conformance.fragments [--record FILE.npz] [--json FILE] [--only TEXT ...]

`mma` and `memory` say how the maps are measured, of instructions on registers and of those that load and store; `forms` has
the instructions as text, `bits` their operands, `probe` the kernel, `records` what a record holds.
"""
