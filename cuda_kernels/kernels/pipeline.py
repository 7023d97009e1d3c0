"""The main loop that the mma.sync kernels share: stages of shared memory, two buffers of fragments.

A kernel hands in what differs: how it copies a chunk of K into a stage, loads the fragments of one k16 step into a
buffer, and multiplies a buffer. While one buffer is multiplied the other is loaded, and stages - 1 chunks are under
way from global memory. What the copies read is one tuple, `source`: addresses of the thread's first bytes of A and B, the
tile's first row and column, M, N, K, and elements from row to row of A and of B.
"""

from dataclasses import dataclass

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
    copies = Copies(stages, chunk_k, copy_chunk)
    if buffers == 1:
        make = make_loop_of_one_buffer if stages > 1 else make_loop_of_one_of_each
        return make(copies, load_fragments, multiply_fragments, steps)
    between = make_steps_between(load_fragments, multiply_fragments, steps)
    if stages == 1:
        return make_loop_of_one_stage(copies, load_fragments, multiply_fragments, between)
    return make_pipelined_loop(copies, load_fragments, multiply_fragments, between, meet)


@dataclass(frozen=True)
class Copies:
    """How chunks of K come to shared memory: stages, the depth of a chunk, and copy_chunk(smem, tid, stage, k, source)."""

    stages: int
    chunk_k: int
    chunk: object

    def wait(self):
        """The instruction that waits until the next chunk is there, with all others under way."""
        return cp_async_wait_group(max(self.stages - 2, 0))

    def ahead(self):
        """copy_ahead(smem, tid, chunks, source): all stages but one, so that they are under way before the first step."""
        stages, chunk_k, copy_chunk, commit = self.stages, self.chunk_k, self.chunk, cp_async_commit_group

        def copy_ahead(smem, tid, chunks, source):
            for s in range(stages - 1):
                if s < chunks:
                    copy_chunk(smem, tid, s, s * chunk_k, source)
                commit()

        return copy_ahead


def make_steps_between(load_fragments, multiply_fragments, steps):
    """The steps of a chunk from the second to the last but one: each is loaded while the one before is multiplied."""
    last = steps - 1

    def load_and_multiply_between(smem, tid, stage, ra, rb, acc):
        for ks in range(1, last, 2):
            load_fragments(smem, tid, ks + 1, stage, 0, ra, rb)
            multiply_fragments(1, ra, rb, acc)
            load_fragments(smem, tid, ks + 2, stage, 1, ra, rb)
            multiply_fragments(0, ra, rb, acc)

    return load_and_multiply_between


def make_loop_of_one_stage(copies, load_fragments, multiply_fragments, between):
    """The main loop of one stage and two buffers."""
    chunk_k, copy_chunk = copies.chunk_k, copies.chunk

    def one_stage(smem, tid, ra, rb, acc, source, K):
        for chunk in range((K + chunk_k - 1) // chunk_k):
            copy_chunk(smem, tid, 0, chunk * chunk_k, source)
            bar_sync()
            load_fragments(smem, tid, 0, 0, 0, ra, rb)
            load_fragments(smem, tid, 1, 0, 1, ra, rb)
            multiply_fragments(0, ra, rb, acc)
            between(smem, tid, 0, ra, rb, acc)
            multiply_fragments(1, ra, rb, acc)
            bar_sync()

    return one_stage


def make_pipelined_loop(copies, load_fragments, multiply_fragments, between, meet):
    """The main loop of several stages and two buffers."""
    stages, chunk_k, copy_chunk = copies.stages, copies.chunk_k, copies.chunk
    copy_ahead, commit, wait = copies.ahead(), cp_async_commit_group, copies.wait()

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
            between(smem, tid, stage, ra, rb, acc)
            stage = stage + 1 if stage < stages - 1 else 0
            fill = fill + 1 if fill < stages - 1 else 0
            wait()                                   # the next chunk is there, and this one is in registers everywhere:
            meet(ra)                                 # its stage may be filled
            load_fragments(smem, tid, 0, stage, 0, ra, rb)
            multiply_fragments(1, ra, rb, acc)
        load_fragments(smem, tid, 1, stage, 1, ra, rb)
        multiply_fragments(0, ra, rb, acc)
        between(smem, tid, stage, ra, rb, acc)
        multiply_fragments(1, ra, rb, acc)
        bar_sync()

    return pipelined


def make_loop_of_one_of_each(copies, load_fragments, multiply_fragments, steps):
    """The main loop of one stage and one buffer."""
    chunk_k, copy_chunk = copies.chunk_k, copies.chunk

    def one_of_each(smem, tid, ra, rb, acc, source, K):
        for chunk in range((K + chunk_k - 1) // chunk_k):
            copy_chunk(smem, tid, 0, chunk * chunk_k, source)
            bar_sync()
            for ks in range(steps):
                load_fragments(smem, tid, ks, 0, 0, ra, rb)
                multiply_fragments(0, ra, rb, acc)
            bar_sync()

    return one_of_each


def make_loop_of_one_buffer(copies, load_fragments, multiply_fragments, steps):
    """The main loop of several stages and one buffer."""
    stages, chunk_k, copy_chunk = copies.stages, copies.chunk_k, copies.chunk
    copy_ahead, commit, wait = copies.ahead(), cp_async_commit_group, copies.wait()

    def load_and_multiply(smem, tid, ks, stage, ra, rb, acc):
        load_fragments(smem, tid, ks, stage, 0, ra, rb)
        multiply_fragments(0, ra, rb, acc)

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

    return one_buffer
