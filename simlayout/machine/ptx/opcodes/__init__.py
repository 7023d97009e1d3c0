"""The instructions of PTX as tables: `bind` finds what one does, by its opcode.

    memory, atoms, moves, copies, bulk, tensormaps     memory, and what moves between it and registers
    control, builtins (printed)                        branches and calls; functions of the CUDA runtime
    warps, clusters, mbarriers, warpgroups, matrix     what lanes, warps and CTAs do together
    lanewise, lanes, lanes_*                           arithmetic: rows written as the PTX ISA writes them (forms)
    rows, groups                                       how registers are read and written
    lacking                                            what the machine does not have
"""
