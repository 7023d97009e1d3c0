"""What an instruction computes that acts lane by lane: functions of carriers, for NumPy arrays and, compiled, for scalars.

`primitives` says what a carrier is; `carriers` makes them of registers' bits; `compiling` compiles. The instructions of PTX
that the functions belong to stand in `simlayout.machine.ptx.opcodes.lanes`.
"""
