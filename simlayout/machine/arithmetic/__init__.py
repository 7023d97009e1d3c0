"""What an instruction computes that acts lane by lane: functions of carriers, for NumPy arrays and, compiled, for scalars.

`primitives` says what a carrier is; `carriers` makes them of registers' bits; `compiling` compiles. The instructions of PTX
that the functions belong to stand in `simlayout.machine.ptx.opcodes.lanes`.

    integers, carries, bitwise, fields, video          of integers and bits
    floats, exact, halves, rounding, signs             of floats: f32 and f64, in directed rounding, of 16 bits
    approximate, mufu, mufu_tables                     what PTX calls approximate
    comparisons, conversions, pairs                    choices; one type made of another, and two of two
"""
