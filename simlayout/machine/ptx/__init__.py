"""A machine that executes PTX, the text of any compiler.

`loading` makes a `module` of a text (`linking` one text of several; `variables`: what of it lies in memory; `faults`: what
the machine does not have), and `entry` launches one of its kernels: `arguments` makes bytes of what is passed, `running`
says who executes the steps, and `attempts` how a launch is tried. On the way a text goes through these folders:

    parser     from text to data (`syntax`)
    cxx        what its names are in C++
    declared   its arrays in shared memory, as the source declares them
    passes     what is known of a function before it runs
    lowering   from a function to a program: steps in a row, each instruction bound to what it does
    opcodes    what that is, as tables
    looks      how hazards are looked for: quickly, again with the shadows, or with other words where nothing is written
    warps      warps execute a program in NumPy, each in its turn
    memory     what they do with memory: addresses, accesses, and which accesses are ordered
    compiled   the same once it pays, in a loop that Numba compiles
"""
