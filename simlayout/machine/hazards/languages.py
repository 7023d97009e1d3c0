"""The words in which a hazard's advice is given: those of the language that its line is written in."""

from os.path import splitext

from simlayout.errors import SHARED_BYTES

NUMBA, CUDA, TRITON = "Numba", "CUDA C++", "Triton"

LANES_SYNC = "bar.warp.sync (__syncwarp)"
OF_OTHER_WARPS = ", or a bar.sync if lanes of other warps touch it too"
"""Words of PTX: what orders lanes of a warp; and when that is not enough."""

GRID_SYNC = "grid.sync() of a cooperative launch, or a counter"
"""What orders all threads of a grid; the first is no instruction of PTX, so called as in CUDA C++."""

RELEASE, ACQUIRE = " (st.release and ld.acquire)", " (ld.acquire)"
"""What synchronizes by a flag."""

_TRITON_BARRIER = "tl.debug_barrier() (or take fewer num_warps, if there are more threads than elements)"

WORDS = {
    NUMBA: ((LANES_SYNC, "cuda.syncwarp()"), ("bar.sync", "cuda.syncthreads()"),
            ("membar.gl", "cuda.threadfence()"), ("membar.cta", "cuda.threadfence_block()"), (RELEASE, ""), (ACQUIRE, ""),
            ("atom.add", "cuda.atomic.add"),
            (GRID_SYNC, "cuda.cg.this_grid().sync(), or a counter"),
            (SHARED_BYTES, "the fourth number of kernel[grid, block, stream, bytes]")),
    CUDA: ((LANES_SYNC, "__syncwarp()"), ("bar.sync", "__syncthreads()"),
           ("membar.gl", "__threadfence()"), ("membar.cta", "__threadfence_block()"), ("atom.add", "atomicAdd"),
           (RELEASE, " (memory_order_release and _acquire of cuda::atomic_ref)"),
           (ACQUIRE, " (memory_order_acquire of cuda::atomic_ref)")),
    TRITON: ((LANES_SYNC, _TRITON_BARRIER), (OF_OTHER_WARPS, ""), ("bar.sync", _TRITON_BARRIER),
             ("atom.add", "tl.atomic_add"), (GRID_SYNC, "a counter")),
}
"""Language -> ((PTX's word, its own), ...): Numba's reference of CUDA kernels, Synchronization and Thread Control; CUDA C++
Programming Guide, Synchronization Functions; triton.language, where threads hold the same elements if there are too few for
all. For all else they have PTX's words."""

_CUDA_FILES = {".cu", ".cuh", ".cpp", ".cc", ".h", ".hpp"}


def worded(advice: str, file: str, python: str | None = None) -> str:
    """Advice in PTX's words, in those of the language of a file. python: the language of Python files, a key of WORDS, or
    None where PTX's are the ones to use.

    >>> [worded("put a bar.sync between them", file, NUMBA) for file in ("kernel.py", "kernel.cu", "kernel.ptx")]
    ['put a cuda.syncthreads() between them', 'put a __syncthreads() between them', 'put a bar.sync between them']
    """
    suffix = splitext(file)[1]
    language = CUDA if suffix in _CUDA_FILES else python if suffix == ".py" else None
    for theirs, own in WORDS.get(language or "", ()):
        advice = advice.replace(theirs, own)
    return advice
