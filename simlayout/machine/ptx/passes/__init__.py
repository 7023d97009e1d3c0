"""What is known of a function of PTX before it runs: what ptxas makes of it, and what its accesses are for.

    statements, flow, known, alike     registers, basic blocks, what the values of registers may be, what lanes share
    accesses, arrays                   which statements access shared memory, and which array
    wrapped                            calls of small functions are put in place
    unrolled, hoisted                  loops test at their bottom (rotated), several rounds of them are written out (counted,
                                       sizes, rounds, copies, repeated), and loads come ahead of them, as ptxas does it
    made                               what ptxas does then, in its order: unread, redundant (with had), joined (with
                                       alignments and loads_ahead), gates (with lines and ends), predicated, chosen,
                                       contracted (with quotients), sunk; map_fields
    waits, guesses, answers, atomic_values, carried, idle     what an access is for, as hazards have to know
    unset                              registers that may be read before anything has written them
    by_order                           what depends on the order in which warps come
    same_place                         accesses of global memory that are judged together
"""
