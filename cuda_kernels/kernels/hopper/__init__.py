"""The kernels for Hopper: TMA brings the operands; wgmma, or mma.sync, multiplies them.

    wgmma_tma, mma_tma (mma_tma_plan)  the smallest kernel with wgmma; the fastest with mma.sync
    wgmma_persistent                   the kernel of `matmul`: producer; consumer (multiply, turns)
    config, rules, kernel              a configuration of it, what goes together, and that as a Kernel
    plan, accesses                     what it does to shared memory, predicted and proved; *_proof: other proofs
    walk, order, last_wave, places     which tiles a CTA works on, and where they lie in its memory
    pipeline, parts, sums, prefetch    what the kernels share
    slices, split, sectors, window     tiles cut along K; ways to store C; groups of rows
    epilogue, activations, scales      what is done to C before it is stored; finishing, scaling, grouping: what callers give
    bring, promote                     scales that are needed while the sums are made
"""
