"""What both front ends run on: memory, barriers, asynchronous copies, warpgroups and counts.

    launch, cta, scheduler             a grid, its CTAs and clusters, and the turns of their warps
    lanes, warp                        a warp, as its instructions see it; waiting, polling: how it waits
    memory, global_memory, peers       shared memory, arrays behind pointers, shared memory of other CTAs; atomics: counters
    barriers, mbarriers                what warps wait at
    copies, bulk, bulk_places          cp.async; TMA and other bulk copies, and what they read and write
    matrices, wmma, warpgroup          ldmatrix and mma; wmma; wgmma
    trace, listing                     what a run did, as counts and beside its source; tags, patterns, sectors: parts
    events                             what those are told who watch a run
"""
