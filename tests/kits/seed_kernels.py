"""Kernels of published tutorials as they were written, with their races, and as they should be.

The lines of a hazard end in `# first` and `# second`; a corrected form has no such comments.
"""

from machine_kit import (
    bar_sync,
    bar_warp_sync,
    commit,
    cp_async,
    ld_shared,
    ldmatrix_x4,
    st_global,
    st_shared,
    st_shared_b128,
    tid_x,
    wait_0,
    wait_1,
    wait_2,
)

# ---- MatmulTutorial: four stages of cp.async; here 64 threads, one word per thread and chunk ------------------------


def load(a, chunk, stage):
    tid = tid_x()
    cp_async(256 * stage + 4 * tid, a + 256 * chunk + 4 * tid)


def use(stage):
    ld_shared(256 * stage + 4 * (63 - tid_x()))


def tutorial_prologue(a):
    load(a, 0, 0)
    commit()
    load(a, 1, 1)
    commit()
    load(a, 2, 2)
    commit()


def unrolled_by_four(a, chunks):
    """v02 to v12: the last refill of four has no commit_group."""
    tutorial_prologue(a)
    for ko in range(0, chunks - 4, 4):
        wait_2()
        bar_sync()
        if ko + 3 < chunks:
            load(a, ko + 3, 3)
            commit()
        use(0)                                                              # second
        wait_2()
        bar_sync()
        if ko + 4 < chunks:
            load(a, ko + 4, 0)                                              # first
            commit()
        use(1)
        wait_2()
        bar_sync()
        if ko + 5 < chunks:
            load(a, ko + 5, 1)
            commit()
        use(2)
        wait_2()
        bar_sync()
        if ko + 6 < chunks:
            load(a, ko + 6, 2)
        use(3)
    tutorial_tail(a, chunks)


def unrolled_by_four_corrected(a, chunks):
    tutorial_prologue(a)
    for ko in range(0, chunks - 4, 4):
        for i in range(4):
            wait_2()
            bar_sync()
            if ko + 3 + i < chunks:
                load(a, ko + 3 + i, (3 + i) % 4)
                commit()
            use(i)
    tutorial_tail(a, chunks)


def tutorial_tail(a, chunks):
    wait_2()
    bar_sync()
    load(a, chunks - 1, 3)
    commit()
    use(0)
    wait_2()
    bar_sync()
    use(1)
    wait_1()
    bar_sync()
    use(2)
    wait_0()
    bar_sync()
    use(3)


def commit_inside_the_if(a, chunks):
    """v13 to v15: in the last rounds nothing is committed, and wait_group 2 waits for nothing."""
    tutorial_prologue(a)
    for ko in range(chunks):
        wait_2()
        bar_sync()
        use(ko % 4)                                                         # second
        if ko + 3 < chunks:
            load(a, ko + 3, (ko + 3) % 4)                                   # first
            commit()


def commit_after_the_if(a, chunks):
    tutorial_prologue(a)
    for ko in range(chunks):
        wait_2()
        bar_sync()
        use(ko % 4)
        if ko + 3 < chunks:
            load(a, ko + 3, (ko + 3) % 4)
        commit()


def accumulators_over_the_last_stage(a, chunks):
    """The C tile reuses the memory of the stages while other warps still load the last one."""
    commit_after_the_if(a, chunks)                                          # first
    st_shared(768 + 4 * tid_x(), 0)                                         # second


def accumulators_after_a_barrier(a, chunks):
    commit_after_the_if(a, chunks)
    bar_sync()
    st_shared(768 + 4 * tid_x(), 0)


# ---- the practical swizzle tutorial ---------------------------------------------------------------------------------


def emulated_stmatrix(out):
    """Problem 2.1: fragments go to shared memory as 32-bit words, and come back by rows, with no __syncwarp."""
    tid = tid_x()
    for half in range(2):
        st_shared(16 * (8 * half + tid // 4) + 4 * (tid % 4), tid)          # first
    st_global(out + 4 * tid, ld_shared(16 * (tid % 16) + 4 * (tid // 16)))  # second


def emulated_stmatrix_corrected(out):
    tid = tid_x()
    for half in range(2):
        st_shared(16 * (8 * half + tid // 4) + 4 * (tid % 4), tid)
    bar_warp_sync()
    st_global(out + 4 * tid, ld_shared(16 * (tid % 16) + 4 * (tid // 16)))


def store_a(tid):
    """Bytes of 16-byte chunk tid of a 16x64 f16 tile: rows of 128 bytes, chunks XORed with the row."""
    row, chunk = tid // 8, tid % 8
    return 2 * (row * 64 + (chunk ^ (row & 7)) * 8)


def load_a_as_printed(tid):
    """The snippet's ldmatrix address: its rows are 16 halves apart, those of the tile 64."""
    row = tid % 16
    return 2 * (row * 16 + ((row & 7) ^ (2 * (tid // 32) + tid % 32 // 16)) * 8)


def load_a(tid):
    row = tid % 16
    return 2 * (row * 64 + ((row & 7) ^ (2 * (tid // 32) + tid % 32 // 16)) * 8)


store_a.access_name = "store A"
load_a_as_printed.access_name = load_a.access_name = "load A"


def stale_stride():
    tid = tid_x()
    st_shared_b128(store_a(tid), tid)                                       # first
    bar_sync()
    ldmatrix_x4(load_a_as_printed(tid))                                     # second


def right_stride():
    tid = tid_x()
    st_shared_b128(store_a(tid), tid)
    bar_sync()
    ldmatrix_x4(load_a(tid))


def stale_stride_of_one_block():
    """One warp with the left 16 columns alone: what the wrong rows hold was never written."""
    tid = tid_x()
    st_shared_b128(store_a(8 * (tid // 2) + tid % 2), tid)
    bar_sync()
    ldmatrix_x4(load_a_as_printed(tid))                                     # second
