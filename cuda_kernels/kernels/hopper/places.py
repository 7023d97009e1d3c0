"""Where things lie in the shared memory of a CTA of `wgmma_persistent`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Places:
    """Bytes from the start of a CTA's shared memory: all stages of A first, then those of B from `b` on; the staging of C
    from `c` on, `staging` bytes per consumer; an mbarrier per stage from `full` on and from `empty` on; its scales from
    `scales` on, or those of lines of each consumer. a_bytes, b_bytes: of a stage."""

    a_bytes: int
    b_bytes: int
    staging: int
    b: int
    c: int
    full: int
    empty: int
    scales: int

    @classmethod
    def of(cls, config):
        """Those of a Hopper configuration."""
        tile_a, tile_b = config.operands
        a_bytes, b_bytes, stages = config.row_bands * tile_a.bytes, tile_b.bytes, config.stages
        c = stages * (a_bytes + b_bytes)
        full = c + config.consumers * config.staging_bytes
        return cls(a_bytes, b_bytes, config.staging_bytes, stages * a_bytes, c, full, full + 8 * stages, full + 16 * stages)
