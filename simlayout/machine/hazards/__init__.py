"""What is wrong with a run: who is ordered with whom (clocks, releases, scopes), what happened to every byte (the shadows of
shared and global memory), and how it is told (kinds). The engine tells the shadows what it does; nothing here runs anything.

    kinds                the kinds of hazards, and the log of those found; units, languages: how bytes and advice are worded
    clocks               vector clocks of threads and engines; releases: what is released at an address; scopes
    touches, shadow      one access of shared memory, and who touched every byte last; shadow_engines: copies and wgmma on
                         their way; proxies: what engines still read; telling: which of two came first, and what is said of
                         them
    global_access, global_shadow      the same of global memory; global_comparison: what a new access does to those before
    elements, guards, rounding        tiles that accesses declare; accumulators; sums that differ by rounding
    rows                 memory as rows of as many bytes as an access has
"""
