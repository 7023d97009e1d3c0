"""Why the GPU counts other wavefronts than the machine: what ptxas makes of the PTX, or lanes that wait for one another.

Seen in the SASS of ptxas 13.0.88 (-arch=sm_90a).
"""

PREDICATED = "ptxas puts a predicate on a copy in place of a branch: where it holds in no lane, LDGSTS counts all the same"
RETRIED = "the loads of the rounds in which lanes try again are estimated: the trace says that they are not exact"
MISREAD = "Nsight Compute misreads an LDGSTS with the predicate P0; where another one is free ptxas's count is the machine's"
PAIRED = "Nsight Compute's count by instruction takes lanes that pair up for unpaired; the pipe's counter has the machine's"
CONTENDED = "how often lanes and warps try again depends on time, so that it differs from run to run"

REASONS: dict[tuple[str, str], str] = {
    ("copy_pipeline", "copy"): PREDICATED,
    ("numba_bins_of_halves", "ld"): RETRIED,
    ("hash_table", "atom"): CONTENDED,
    ("numba_complex_rows", "ld"): PAIRED,
    ("triton_int8", "copy"): MISREAD,
    ("triton_e4m3", "copy"): MISREAD,
    ("atomic_kinds", "ld"): CONTENDED,
    ("atomic_kinds", "atom"): CONTENDED,
    ("atomic_refs", "atom"): CONTENDED,
    ("latch_and_semaphore", "ld"): CONTENDED,
    ("latch_and_semaphore", "atom"): CONTENDED,
    ("spin_lock", "atom"): CONTENDED,
    ("lanes_in_turn", "atom"): CONTENDED,
}
"""(kernel, class of wavefronts) -> why the numbers differ. Every other pair is equal."""
