"""Where things lie in the shared memory of a CTA of `wgmma_persistent`."""

from dataclasses import dataclass

BARRIERS = 16
"""Bytes of the mbarriers of a stage."""


@dataclass(frozen=True)
class Places:
    """Bytes from the start of a CTA's shared memory: all stages of A first, then those of B from `b` on; the staging of C
    from `c` on, `staging` bytes per consumer; what slices of a tile send each consumer from `parts` on; an mbarrier per
    stage from `full` on and from `empty` on, and for the slices one per consumer from `come` on; its scales from `scales`
    on, or those of lines of each consumer. a_bytes, b_bytes: of a stage."""

    a_bytes: int
    b_bytes: int
    staging: int
    b: int
    c: int
    parts: int
    full: int
    empty: int
    come: int
    scales: int

    @classmethod
    def of(cls, config):
        """Those of a Hopper configuration."""
        tile_a, tile_b = config.operands
        a_bytes, b_bytes, stages = config.row_bands * tile_a.bytes, tile_b.bytes, config.stages
        c = stages * (a_bytes + b_bytes)
        parts = c + config.consumers * config.staging_bytes
        full = parts + config.consumers * config.exchanged_bytes
        come = full + BARRIERS * stages
        return cls(a_bytes, b_bytes, config.staging_bytes, stages * a_bytes, c, parts, full, full + 8 * stages, come,
                   come + config.come_bytes)
