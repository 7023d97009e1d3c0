"""What PTX programs do most, executed by a loop that Numba compiles once.

    loop, encode, fresh                the loop of a launch; a Program as its numbers; registers that it has to clear
    enter, inside                      the one function that has all of it, and what that does
    executor, together                 steps of a part of a warp; all parts of a warp, and all warps of a CTA
    grid, whole                        CTAs one after another, and grids of which it executes whole CTAs
    instructions, rows, products       which arithmetic is compiled, of the same table that NumPy executes; mma
    access, located, noted             loads and stores: what they do, where, and what of them is counted later
    calls, exchanges                   calls of functions; shuffles and votes
    look, doubts, ordered              the quick look for hazards (`looks`)
    registers, pointers                what all of them are made of
"""
