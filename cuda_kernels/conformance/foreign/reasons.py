"""Why the GPU counts other wavefronts than the machine: what ptxas makes of the PTX, or lanes that wait for one another.

Seen in the SASS of ptxas 13.0.88 (-arch=sm_90a).
"""

JOINED = "ptxas loads ahead of the branches that leave the loop, and joins these loads into LDS.128"
PREDICATED = "ptxas puts a predicate on a copy in place of a branch: where it holds in no lane, LDGSTS counts all the same"
CONTENDED = "how often lanes and warps try again depends on time, so that it differs from run to run"

REASONS: dict[tuple[str, str], str] = {
    ("early_return", "ld"): JOINED,
    ("copy_pipeline", "copy"): PREDICATED,
    ("atomic_kinds", "ld"): CONTENDED,
    ("atomic_kinds", "atom"): CONTENDED,
    ("atomic_refs", "atom"): CONTENDED,
    ("latch_and_semaphore", "ld"): CONTENDED,
    ("latch_and_semaphore", "atom"): CONTENDED,
    ("spin_lock", "atom"): CONTENDED,
    ("lanes_in_turn", "atom"): CONTENDED,
}
"""(kernel, class of wavefronts) -> why the numbers differ. Every other pair is equal."""
