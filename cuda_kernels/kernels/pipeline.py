"""The main loop that the mma.sync kernels share: stages of shared memory, two buffers of fragments.

A kernel hands in what differs: how it copies a chunk of K into a stage, loads the fragments of one k16 step into a
buffer, and multiplies a buffer. While one buffer is multiplied the other is loaded, and stages - 1 chunks are under
way from global memory. What the copies read is one tuple, `source`: addresses of the thread's first bytes of A and B, the
tile's first row and column, M, N, K, and elements from row to row of A and of B.
"""

from cuda_kernels.intrinsics import bar_sync, bar_sync_zero, cp_async_commit_group, cp_async_wait_group


def meet(ra):
    """A barrier of the CTA."""
    bar_sync()


def meet_and_hold(ra):
    """A barrier that keeps the multiplications of buffer 1 behind it.

    ptxas would rather issue them before the barrier, and then has nothing to do while the next fragments load. The
    barrier's result, always 0, goes into one register of every A fragment, so that it cannot.
    """
    zero = bar_sync_zero()
    for i in range(4):
        ra[1, i, 0] = ra[1, i, 0] ^ zero


def make_main_loop(stages, chunk_k, copy_chunk, load_fragments, multiply_fragments, meet, buffers=2, steps=2):
    """The device function that accumulates A B over all chunks of K; after it the stages are free for C.

    stages: 1 copies, waits, multiplies; more overlap all three. chunk_k: depth of a chunk. buffers: of fragments: 2, or 1,
    which a warp loads, multiplies and loads again. steps: k16 steps of a warp per chunk, an even number, or with one buffer
    any.
    """
    commit, wait = cp_async_commit_group, cp_async_wait_group(max(stages - 2, 0))
    last = steps - 1

    def copy_ahead(smem, tid, chunks, source):
        for s in range(stages - 1):
            if s < chunks:
                copy_chunk(smem, tid, s, s * chunk_k, source)
            commit()

    def load_and_multiply_between(smem, tid, stage, ra, rb, acc):
        """The steps of a chunk from the second to the last but one: each is loaded while the one before is multiplied."""
        for ks in range(1, last, 2):
            load_fragments(smem, tid, ks + 1, stage, 0, ra, rb)
            multiply_fragments(1, ra, rb, acc)
            load_fragments(smem, tid, ks + 2, stage, 1, ra, rb)
            multiply_fragments(0, ra, rb, acc)

    def one_stage(smem, tid, ra, rb, acc, source, K):
        for chunk in range((K + chunk_k - 1) // chunk_k):
            copy_chunk(smem, tid, 0, chunk * chunk_k, source)
            bar_sync()
            load_fragments(smem, tid, 0, 0, 0, ra, rb)
            load_fragments(smem, tid, 1, 0, 1, ra, rb)
            multiply_fragments(0, ra, rb, acc)
            load_and_multiply_between(smem, tid, 0, ra, rb, acc)
            multiply_fragments(1, ra, rb, acc)
            bar_sync()

    def pipelined(smem, tid, ra, rb, acc, source, K):
        chunks = (K + chunk_k - 1) // chunk_k
        copy_ahead(smem, tid, chunks, source)
        wait()                                       # this thread's share of chunk 0 is there
        bar_sync()                                   # everyone's is
        load_fragments(smem, tid, 0, 0, 0, ra, rb)
        stage, fill, ahead = 0, stages - 1, (stages - 1) * chunk_k
        for chunk in range(chunks - 1):
            load_fragments(smem, tid, 1, stage, 1, ra, rb)
            if chunk + stages - 1 < chunks:
                copy_chunk(smem, tid, fill, chunk * chunk_k + ahead, source)
            commit()                                 # also when empty: the count of groups must not stop
            multiply_fragments(0, ra, rb, acc)
            load_and_multiply_between(smem, tid, stage, ra, rb, acc)
            stage = stage + 1 if stage < stages - 1 else 0
            fill = fill + 1 if fill < stages - 1 else 0
            wait()                                   # the next chunk is there, and this one is in registers everywhere:
            meet(ra)                                 # its stage may be filled
            load_fragments(smem, tid, 0, stage, 0, ra, rb)
            multiply_fragments(1, ra, rb, acc)
        load_fragments(smem, tid, 1, stage, 1, ra, rb)
        multiply_fragments(0, ra, rb, acc)
        load_and_multiply_between(smem, tid, stage, ra, rb, acc)
        multiply_fragments(1, ra, rb, acc)
        bar_sync()

    def load_and_multiply(smem, tid, ks, stage, ra, rb, acc):
        load_fragments(smem, tid, ks, stage, 0, ra, rb)
        multiply_fragments(0, ra, rb, acc)

    def one_of_each(smem, tid, ra, rb, acc, source, K):
        for chunk in range((K + chunk_k - 1) // chunk_k):
            copy_chunk(smem, tid, 0, chunk * chunk_k, source)
            bar_sync()
            for ks in range(steps):
                load_and_multiply(smem, tid, ks, 0, ra, rb, acc)
            bar_sync()

    def one_buffer(smem, tid, ra, rb, acc, source, K):
        chunks = (K + chunk_k - 1) // chunk_k
        copy_ahead(smem, tid, chunks, source)
        stage, fill, ahead = 0, stages - 1, (stages - 1) * chunk_k
        for chunk in range(chunks):
            wait()                                   # this chunk is there, and everyone has left the one before:
            bar_sync()                               # its stage may be filled
            load_and_multiply(smem, tid, 0, stage, ra, rb, acc)
            if chunk + stages - 1 < chunks:
                copy_chunk(smem, tid, fill, chunk * chunk_k + ahead, source)
            commit()
            for ks in range(1, steps):
                load_and_multiply(smem, tid, ks, stage, ra, rb, acc)
            stage = stage + 1 if stage < stages - 1 else 0
            fill = fill + 1 if fill < stages - 1 else 0
        bar_sync()

    if buffers == 1:
        return one_buffer if stages > 1 else one_of_each
    return pipelined if stages > 1 else one_stage
