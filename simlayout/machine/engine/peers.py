"""Distributed shared memory: what a warp does in that of another CTA of its cluster (PTX ISA: .shared::cluster).

Its wavefronts are not known, so bytes are counted. A CTA must not end before those who come to it have done so.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.lanes import WarpPart
from simlayout.machine.engine.memory import PerLane, lane_addresses
from simlayout.machine.hazards.kinds import error, hazard
from simlayout.machine.hazards.touches import WEAK, Touch


class AsyncStore:
    """st.async or red.async on its way to a CTA (see `Mbarrier.loads`, also of tell). rows, data: as of
    `SharedMemory.store`; touch: the Touch of its bytes, None where nobody looks for hazards; update: what becomes of what is
    there, or None."""

    arrivals, counted = 0, False

    def __init__(self, cta, rows, data, touch, update, tell):
        self.cta, self.rows, self.data, self.touch, self.update, self.tell = cta, rows, data, touch, update, tell
        self.bytes = data.size

    def land(self, number, mbarrier):
        """The bytes come, in phase `number` of the mbarrier, counted from 1."""
        nbytes = self.data.shape[1]
        for i in range(len(self.rows)):
            row, data = self.rows[i:i + 1], self.data[i:i + 1]
            self.cta.shared.store(row, data if self.update is None else self.update(self.cta.shared.load(row, nbytes), data))
        if self.touch is not None:
            self.touch.number = number
            self.cta.shadow.land(self.touch, (self.touch.site, self.touch.caller))
            if self.update is None:
                self.touch.warp.collide(self.cta, self.touch, self.cta.shared.load(self.rows, nbytes), self.data)


class PeerTwins(WarpPart):
    """What a Warp does in a CTA of its cluster. addresses: bytes, as in its own shared memory; rank: of the CTA, uniform."""

    def peer_load(self, instruction: str, addresses: PerLane, nbytes: int, rank: PerLane,
                  order: str = WEAK) -> np.ndarray:
        """Loads nbytes per lane: uint8 [32, nbytes]. order: as of `Warp.shared_load`."""
        peer, rows = self._at_peer(instruction, addresses, nbytes, rank)
        if peer.shadow is not None:
            peer.shadow.read(self._touch(instruction, addresses, rows, nbytes, order=order))
            self._visit(peer, instruction)
        data = np.zeros((LANES, nbytes), np.uint8)
        data[self.active] = peer.shared.load(rows, nbytes)
        self.polled(rows, data)
        return data

    def peer_store(self, instruction: str, addresses: PerLane, data: np.ndarray, rank: PerLane,
                   order: str = WEAK, width: int | None = None) -> None:
        """Stores uint8 [32, nbytes]. order, width: as of `Warp.shared_store`."""
        peer, rows = self._at_peer(instruction, addresses, data.shape[1], rank)
        touch, data = None, np.ascontiguousarray(data[self.active])
        if peer.shadow is not None:
            touch = self._touch(instruction, addresses, rows, data.shape[1], order=order)
            touch.width = width or touch.nbytes
            self._visit(peer, instruction)
        self._store(peer, rows, data, touch)

    def peer_update(self, instruction: str, addresses: PerLane, nbytes: int, rank: PerLane) -> tuple[Any, np.ndarray]:
        """(The CTA, the rows of the active lanes) of an atomic there, which the caller computes."""
        peer, rows = self._at_peer(instruction, addresses, nbytes, rank)
        if peer.shadow is not None:
            peer.shadow.atomic(self._touch(instruction, addresses, rows, nbytes))
            self._visit(peer, instruction)
        return peer, rows

    def peer_store_async(self, instruction: str, addresses: PerLane, data: np.ndarray, rank: PerLane, mbarrier: PerLane,
                         update: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None) -> None:
        """st.async: uint8 [32, nbytes] comes as late as PTX allows, and its bytes complete on the mbarrier there, uniform or
        one per lane. update: of red.async, called with what is there and data, uint8 [1, nbytes]."""
        peer, rows = self._at_peer(instruction, addresses, data.shape[1], rank)
        lanes, places = np.flatnonzero(self.active), lane_addresses(mbarrier, instruction)
        for at in np.unique(places[lanes]).tolist():
            mine = places[lanes] == at
            target, touch = self.mbarrier_at(instruction, at, lanes[mine], peer), None
            if target is None:
                continue
            if peer.shadow is not None:
                touch = Touch(self, instruction, rows[mine], data.shape[1], lanes[mine])
                touch.agent, touch.strong = target, update is not None
                (peer.shadow.reduce if update else peer.shadow.issue)(touch, generic=True)
            tell = self.tells_of(instruction, lanes[mine])
            target.loads.append(AsyncStore(peer, rows[mine], data[lanes[mine]], touch, update, tell))

    def peer(self, rank: int, instruction: str) -> Any:
        """The CTA of this rank in the cluster. Tells of a hazard if it has ended: its memory may be another's by now. Raises
        it where nobody looks for any."""
        cta, log = self.cta.peer(rank, instruction), self.cta.launch.log
        if not cta.running:
            what = "early exit", None, self.place(np.flatnonzero(self.active), instruction)
            words = {"cta": cta.index, "does": "use its shared memory", "detail": "it has ended already"}
            if log is None:
                raise error(hazard(*what, **words))
            log.add(*what, **words)
        return cta

    def _at_peer(self, instruction, addresses, nbytes, rank):
        """(The CTA, the rows of the active lanes there), checked and counted."""
        peer = self.peer(int(self.agree(np.broadcast_to(rank, LANES), "the rank of a CTA")), instruction)
        rows = peer.shared.rows(instruction, lane_addresses(addresses, instruction), nbytes, self._mask())
        self.cta.launch.recorder.count(instruction, self.counted_at, bytes=len(rows) * nbytes)
        return peer, rows

    def _visit(self, peer, instruction):
        """Notes that these threads come there: the CTA must not end before it knows of it."""
        if peer is self.cta:
            return
        lanes = np.flatnonzero(self.active)
        place, epoch = self.place(lanes, instruction), self.cta.clocks.epochs[self.number]
        peer.visitors |= {thread: (epoch, place) for thread in self.threads(lanes).tolist()}
