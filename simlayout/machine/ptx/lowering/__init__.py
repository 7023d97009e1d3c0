"""From a parsed function to a program: `lower.Lowering` makes it, `program.Program` is what it makes. `names` say what
operands mean, `blocks` in which order parted lanes meet again; `accumulators`, `clocks`: registers that are not as others.
"""
