"""What is known of a function of PTX before it runs: what ptxas makes of it, and what its accesses are for.

    statements, flow, known            registers, basic blocks, and what the values of registers may be
    accesses, arrays                   which statements access shared memory, and which array
    wrapped                            calls of small functions are put in place
    rotated, unrolled, rounds          loops test at their bottom, and several rounds are written out, as ptxas does it
    made                               what ptxas does then, in its order: unread, redundant, joined (with alignments and
                                       loads_ahead), gates (with ends), chosen, contracted (with quotients), sunk;
                                       map_fields
    waits, guesses, answers, atomic_values, carried, idle     what an access is for, as hazards have to know
    same_place                         accesses of global memory that are judged together
"""
