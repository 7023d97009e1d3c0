"""What a PTX warp does at addresses of a cluster: its own shared memory, and that of other CTAs.

The window of shared memory begins with the CTA's own; behind it lies that of every CTA of the cluster, RANK bytes apart.
"""

import numpy as np

from simlayout.errors import AddressError, MachineError
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.ptx.memory.space import RANK, SHARED, WINDOW

MOST_CTAS = 16
"""Of a cluster (CUDA C++ Programming Guide: 8, and 16 where a kernel asks for it)."""


class ClusterTwins:
    """Addresses of shared memory of a PtxWarp. addresses: uint64 [32]; where: the same as int64 [32], in the window."""

    def own_shared(self, addresses, instruction):
        """int64 [32]: addresses in this CTA's part of the window of shared memory, or generic ones, of which ptxas takes the
        lower 32 bits; MachineError for those of other CTAs."""
        where = addresses.view(np.int64)
        if (where[self.active] < RANK).all():
            return where
        where = where % WINDOW
        self._check_window(where, instruction, len(self.cta.cluster.ctas))
        own = where - (self.cta.rank + 1) * RANK
        where = np.where((own >= 0) & (own < RANK), own, where)
        if (where[self.active] >= RANK).any():
            raise MachineError(f"{instruction}: an address in the shared memory of another CTA of the cluster: use "
                               "shared::cluster")
        return where

    def in_shared(self, addresses, generic, instruction):
        """int64 [32]: addresses in this CTA's shared memory, of its window or (generic) of all memory."""
        if generic:
            outside = self.active & ((addresses < np.uint64(SHARED)) | (addresses >= np.uint64(SHARED + WINDOW)))
            if outside.any():
                lane = int(np.flatnonzero(outside)[0])
                raise AddressError(f"{instruction}: lane {lane} gives address {int(addresses[lane]):#x}, which is none of "
                                   "shared memory")
            addresses = addresses - np.uint64(SHARED)
        return self.own_shared(addresses, instruction)

    def in_cluster(self, addresses):
        """(int64 [32] in a CTA's shared memory, int64 [32] the rank of that CTA) of addresses, in the window or generic."""
        where = addresses.view(np.int64)
        where = np.where(where >= SHARED, where - SHARED, where)
        return where % RANK, np.where(where < RANK, self.cta.rank, where // RANK - 1)

    def signals(self, instruction, lane, rank, its):
        """Tells of a copy by a lane to the CTA of a rank that completes on an mbarrier of the CTA of another, its: PTX asks
        for one where the bytes land (cp.async.bulk.tensor, .cta_group::1; st.async). None: this CTA."""
        there, named = (self.cta.rank if one is None else int(one) for one in (rank, its))
        if there != named:
            self.misused(instruction, np.array([lane]), f"copies to CTA {there} of the cluster, and names an mbarrier of "
                         f"CTA {named}: it completes on none but those of CTA {there} (give mapa one rank for both)")

    def _check_window(self, where, instruction, ctas):
        """Refuses addresses beyond the part of the last of so many CTAs, such as those below 0."""
        outside = self.active & (where >= RANK * (1 + ctas))
        if outside.any():
            lane = int(np.flatnonzero(outside)[0])
            at = int(where[lane])
            signed = at - WINDOW if at >= WINDOW // 2 else at
            raise AddressError(f"{instruction}: lane {lane} gives shared address {signed}, outside the "
                               f"{self.cta.shared.size} bytes of shared memory: fix the index")

    def by_cta(self, where, instruction):
        """(rank or -1 for the own CTA by its own addresses, int64 [32] in it), with those lanes active, in turn."""
        own = ".shared" in self.doing.text and "::cluster" not in self.doing.text    # an index that is wrong, no other rank
        self._check_window(where, instruction, len(self.cta.cluster.ctas) if own else MOST_CTAS)
        outer, ranks = self.active, where // RANK - 1
        for rank in np.unique(ranks[outer]).tolist():
            self.narrow(outer & (ranks == rank))
            yield rank, where % RANK
        self.narrow(outer)

    def cluster_load(self, name, where, nbytes, order):
        """ld, of which some lanes address the cluster's shared memory."""
        total = np.zeros((LANES, nbytes), np.uint8)
        for rank, at in self.by_cta(where, name):
            if rank in (-1, self.cta.rank):              # the latter by a generic load
                total |= self.shared_load(name if rank < 0 else f"ld.b{8 * nbytes}", at, nbytes, order)
            else:
                total |= self.peer_load(f"ld.shared::cluster.b{8 * nbytes}", at, nbytes, rank, order)
        return total

    def cluster_store(self, name, where, data, order, width):
        """st, of which some lanes address the cluster's shared memory."""
        for rank, at in self.by_cta(where, name):
            if rank in (-1, self.cta.rank):
                self.shared_store(name, at, np.ascontiguousarray(data), order, width)
            else:
                self.peer_store(f"st.shared::cluster.b{8 * data.shape[1]}", at, data, rank, order, width)

    def cluster_atomic(self, name, where, update, values, held, order):
        """atom or red, of which some lanes address the cluster's shared memory."""
        for rank, at in self.by_cta(where, name):
            if rank in (-1, self.cta.rank):
                self._shared_atomic(name, at, update, values, held, order)
            else:
                peer, rows = self.peer_update(name.replace(".shared.", ".shared::cluster."), at, update.bytes, rank)
                self.update_shared(peer.shared, where, rows, update, values, held, order)
