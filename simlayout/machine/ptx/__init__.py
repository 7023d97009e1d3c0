"""A machine that executes PTX, the text of any compiler.

`parser` reads it as the data of `syntax`; `passes` work out what is known of a function before it runs; `lower` makes steps
of it, each instruction bound to what `opcodes` say of it; a `module` launches its entries (`run`), whose warps take turns in
NumPy or, once it pays, in the loop of `compiled`.
"""
