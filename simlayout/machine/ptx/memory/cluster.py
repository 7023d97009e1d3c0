"""What a PTX warp does at addresses of a cluster: its own shared memory, and that of other CTAs.

The window of shared memory begins with the CTA's own; behind it lies that of every CTA of the cluster, RANK bytes apart.
"""

import numpy as np

from simlayout.errors import AddressError, MachineError
from simlayout.hardware.tables.arch import LANES
from simlayout.machine.ptx.memory.space import RANK, SHARED, WINDOW, in_window


class ClusterTwins:
    """Addresses of shared memory of a PtxWarp. addresses: uint64 [32]; where: the same `in_window`."""

    def own_shared(self, addresses, instruction):
        """int64 [32]: addresses in this CTA's part of the window; MachineError for those of other CTAs."""
        where = in_window(addresses)
        if (where[self.active] < RANK).all():
            return where
        self._check_window(where, instruction)
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
        return self.own_shared(addresses, instruction)

    def in_cluster(self, addresses):
        """(int64 [32] in a CTA's shared memory, int64 [32] the rank of that CTA) of addresses."""
        where = in_window(addresses)
        return where % RANK, np.where(where < RANK, self.cta.rank, where // RANK - 1)

    def signals(self, instruction, lane, rank, its):
        """Tells of a copy by a lane to the CTA of a rank that completes on an mbarrier of the CTA of another, its: PTX asks
        for one where the bytes land (cp.async.bulk.tensor, .cta_group::1; st.async)."""
        if rank != its:
            self.misused(instruction, np.array([lane]), f"copies to CTA {rank} of the cluster, and names an mbarrier of "
                         f"CTA {its}: it completes on none but those of CTA {rank} (give mapa one rank for both)")

    def _check_window(self, where, instruction):
        """Refuses addresses that are of no CTA of the cluster: those below 0, and beyond the part of the last one."""
        ctas = len(self.cta.cluster.ctas)
        outside = self.active & ((where < 0) | (where >= RANK * (1 + ctas)))
        if outside.any():
            lane = int(np.flatnonzero(outside)[0])
            at = int(where[lane])
            raise AddressError(f"{instruction}: lane {lane} gives shared address {at}, outside the {self.cta.shared.size} "
                               f"bytes of shared memory{f' of each of {ctas} CTAs' if ctas > 1 else ''}: fix the index"
                               f"{', or the rank (or pass cluster= to run)' if at >= RANK else ''}")

    def by_cta(self, where, instruction):
        """(rank or -1 for the own CTA by its own addresses, int64 [32] in it), with those lanes active, in turn."""
        self._check_window(where, instruction)
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
