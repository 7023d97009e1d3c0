"""mbarriers: phases that complete when all arrivals and all announced bytes have come (PTX ISA: mbarrier).

Copies need no fence.proxy.async between an mbarrier's init and them, only order: "this instruction accesses its mbarrier
operand using generic-proxy" (PTX ISA 9.3 and later: cp.async.bulk, cp.async.bulk.tensor, st.async). CUDA's guide once asked
for such a fence; CUTLASS's and Triton's kernels do without.
"""

from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import Any

import numpy as np

from simlayout.hardware.tables.arch import LANES
from simlayout.machine.engine.barriers import ONCE, Arrival, both
from simlayout.machine.engine.lanes import WarpPart
from simlayout.machine.engine.memory import PerLane, lane_addresses
from simlayout.machine.engine.waiting import Poll, waits
from simlayout.machine.hazards.clocks import IN_GLOBAL, IN_SHARED, joined
from simlayout.machine.hazards.kinds import Place, error, hazard
from simlayout.machine.hazards.scopes import CLUSTER, CTA
from simlayout.machine.hazards.touches import Touch
from simlayout.wording import counted

MOST = 2**20 - 1
"""The largest count of arrivals, and of announced bytes of one phase (PTX ISA: mbarrier, contents)."""

STATE_BITS = 32
"""Of the state that an arrival returns, so many bits are below the number of the phase; PTX keeps it opaque."""

OF_STATE = np.uint64((1 << STATE_BITS) - 1)
"""Those bits: what the phase lacked before the arrival (mbarrier.pending_count)."""


class Phase:
    """One phase: whether it is done, what those who arrived had done and knew (a clock, see `clocks`), and their
    `Warp.fences`."""

    __slots__ = ("clock", "done", "fences")

    def __init__(self, done=False):
        self.done, self.clock, self.fences = done, None, None


class Mbarrier:
    """An mbarrier of a CTA, at a byte address of its shared memory. count: arrivals that a phase takes.

    number: phases that are complete; pending: arrivals that the present one lacks; bytes: announced and not yet come;
    loads: what is on its way here, oldest first: called as load.land(phase, address), it brings `load.bytes` bytes and
    `load.arrivals` arrivals, and gives the clock of those or None; counted: whether they are of the count. The Mbarrier is
    the agent of these copies (see `Touch`). tell, of a method or a load: called with what is wrong, see `misused`.
    """

    def __init__(self, cta, address, count):
        self.cta, self.address, self.count = cta, address, count
        self.number, self.pending, self.bytes, self.loads = 0, count, 0, []
        self.present, self.before = Phase(), Phase(done=True)
        self.engine = self.init_serial = self._seen = None
        self.makers, self.fenced = np.empty(0, np.int64), False          # threads; whether theirs was a fence.mbarrier_init
        self._told = []                                  # (threads, epoch) of those who left a barrier that handed it on
        self._late = []          # (threads, epoch, tell): who asked for more in this phase, after which nobody has arrived
        if cta.shadow is not None:
            self.engine = cta.clocks.engine()
            self._seen = np.zeros(cta.clocks.threads, np.int32)          # in which epoch each thread used it last; -1 of
            #                                              those that have not, and are known to come after the init

    def __repr__(self):
        return f"mbarrier {self.address}" + ("" if self.cta.alone else f" of CTA {self.cta.index}")

    @property
    def token(self):
        """What an arrival returns: the number of the phase, and below it what the phase lacks before that arrival."""
        return self.number << STATE_BITS | self.pending

    def arrive(self, arrivals, bytes, clock, tell, drop=False, fences=None, knows=None):
        """Announces bytes; then `arrivals` arrive, with this clock (None if it orders nothing) and these fences. drop: for
        the last time; knows: the clock of who arrives, None where nobody looks for hazards."""
        self.announce(bytes, tell)
        self.present.fences = both(self.present.fences, fences)
        self._come_behind(knows)
        self._arrived(arrivals, clock, tell, drop)

    def _arrived(self, arrivals, clock, tell, drop=False):
        """More than the phase lacks are as many as it lacks."""
        if arrivals > self.pending:
            tell(f"makes {counted(arrivals, 'arrival')} on {self}, whose phase {self.number} lacks {self.pending} of "
                 f"{self.count}")
            arrivals = self.pending
        self.count -= arrivals if drop else 0
        self.present.clock = joined(self.present.clock, clock)
        self.pending -= arrivals
        self._settle()

    def land(self):
        """The oldest copy on its way here lands in the present phase."""
        load = self.loads.pop(0)
        clock = load.land(self.number + 1, self.address)
        self.announce(-load.bytes, load.tell)
        if load.counted:
            self._come_behind(clock)
        self._arrived(load.arrivals, clock, load.tell)

    def complete(self, bytes, tell):
        """So many announced bytes have come (mbarrier.complete_tx)."""
        self.announce(-bytes, tell)
        self._settle()

    def expect(self, arrivals):
        """The present phase lacks so many arrivals more: those of copies that have begun."""
        self.pending += arrivals

    def announce(self, bytes, tell):
        """So many bytes will come in this phase; fewer than 0: have come."""
        self.bytes += bytes
        if abs(self.bytes) > MOST:
            tell(f"makes it {self.bytes} bytes announced on {self} in one phase, where at most {MOST} may be")

    def asks_for_more(self, warp, lanes, tell):
        """Lanes (int [n]) make the present phase lack more. It is told where that phase may be complete by then: where no
        bytes are to come, and no arrival surely comes after this."""
        if self.engine is not None and not self.bytes:
            self._late.append((warp.threads(lanes), self.cta.clocks.epochs[warp.number], tell))

    def _come_behind(self, clock):
        """Those arrive who know what a clock does."""
        if clock is not None and self._late:
            met = self.cta.clocks.met
            self._late = [(threads, epoch, tell) for threads, epoch, tell in self._late
                          if epoch >= met[threads[0] // LANES] and (clock[0, threads] < epoch).all()]

    def _settle(self):
        if self.pending or self.bytes:
            return
        for _, _, tell in self._late:
            tell(f"asks for more of phase {self.number} of {self}, which may be complete by then: nobody is sure to arrive "
                 "after it in this phase (let the same thread arrive behind it)")
        self._late = []
        self.number, self.pending = self.number + 1, self.count
        self.before, self.present = self.present, Phase()
        self.before.done = True
        self.cta.launch.changes += 1
        self.cta.tell("phase", "mbarrier", mbarrier=self.address)
        if self.before.clock is not None:
            self.before.clock = self.before.clock.copy()
            self.before.clock[0, self.engine] = self.number

    def phase(self, parity):
        """The Phase that a wait for this parity waits for: the present one or the one before."""
        return self.present if self.number % 2 == parity else self.before

    def used(self, warp, instruction, lanes):
        """Tells the shadow that `lanes` use the mbarrier: after its init, and while nothing has overwritten it."""
        if self._seen is None:
            return
        shadow = self.cta.shadow
        other = shadow.changed_by(self.address, self.init_serial)
        if other is not None:
            warp.misused(instruction, lanes, f"uses {self}, whose 8 bytes {other.place()} has written since its init",
                         first=other.place())
        threads = warp.threads(lanes)
        if not self._seen[threads].all() and not self._comes_after(threads):
            shadow.check(Touch(warp, instruction, np.full(len(lanes), self.address // 8), 8, lanes))
        self._seen[threads] = self.cta.clocks.epochs[warp.number]

    def ends(self, warp, instruction, lanes):
        """Tells of other warps that may still use it as `lanes` init or invalidate it. One is not told of which a lane comes
        before: libcu++'s pipelines elect a lane of each, behind a match of the others."""
        used, own = np.flatnonzero(self._seen > 0), warp.threads(lanes)
        late = np.all([self.cta.clocks.unordered(used, self._seen[used], one) for one in own], axis=0)
        warps = np.setdiff1d(used[late] // LANES, np.append(used[~late], own) // LANES)
        if warps.size:
            warp.misused(instruction, lanes, f"ends {self}, which {counted(len(warps), 'other warp')} may still use, as no "
                         "barrier lies between")

    def handed_on(self, threads):
        """`threads` (int [n], of one warp) have left a barrier that hands on the init: whoever meets them comes after it."""
        self._seen[threads] = np.where(self._seen[threads], self._seen[threads], -1)
        self._told.append((threads, self.cta.clocks.epochs[int(threads[0]) // LANES]))

    def _comes_after(self, threads):
        """Whether `threads` have met some that the init was handed on to."""
        clocks, n = self.cta.clocks, len(threads)
        pairs = [(np.repeat(told, n), epoch, np.tile(threads, len(told))) for told, epoch in self._told]
        return any(clocks.ordered(*pair).reshape(-1, n).any(axis=0).all() for pair in pairs)

    def state(self, touch):
        """When the copy known as `touch` is over, as text."""
        phase = "the phase in which it lands" if touch.number is None else f"phase {touch.number - 1}"
        return f"only a wait for {phase} of {self} covers it"

    def waiting(self, parity):
        """What a warp waits for, as text."""
        lacks = f"{self.pending} of {self.count} arrivals" if self.pending else ""
        bytes = f"{self.bytes} bytes" if self.bytes > 0 else ""
        lacking = " and ".join(filter(None, (lacks, bytes)))
        text = f"{self} for phase {self.number} (parity {parity})" + (f", which lacks {lacking}" if lacking else "")
        return text + (f", to which {-self.bytes} bytes have come that nobody has announced" if self.bytes < 0 else "")


class MbarrierTwins(WarpPart):
    """What a Warp does with mbarriers. Addresses are bytes, 8-byte aligned, uniform (int) or one per lane (int [32]); lanes:
    bool [32], those of the active lanes that take part."""

    def mbarrier_init(self, address: PerLane, count: PerLane) -> None:
        """mbarrier.init: phases that take `count` arrivals (1 to 2**20 - 1)."""
        for at, lanes in self._mbarrier_lanes("mbarrier.init", address):
            wanted = np.unique(np.broadcast_to(count, LANES)[lanes])
            if len(wanted) > 1 or not 1 <= wanted[0] <= MOST:
                self.misused("mbarrier.init", lanes, f"inits an mbarrier at shared address {at} for {wanted.tolist()} "
                             f"arrivals, where PTX asks for one count from 1 to {MOST}")
                continue
            if (before := self.cta.mbarriers.get(at)) is not None and self.cta.shadow is not None:
                before.ends(self, "mbarrier.init", lanes)
            mbarrier = self.cta.mbarriers[at] = Mbarrier(self.cta, at, int(wanted[0]))
            if self.cta.shadow is not None:
                self.cta.shadow.write(Touch(self, "mbarrier.init", np.full(len(lanes), at // 8), 8, lanes))
                mbarrier.init_serial, mbarrier.makers = self.cta.shadow.serial, self.threads(lanes)

    def mbarrier_inval(self, address: PerLane) -> None:
        """mbarrier.inval: its 8 bytes are memory like any other again."""
        for at, lanes in self._mbarrier_lanes("mbarrier.inval", address):
            mbarrier = self.mbarrier_at("mbarrier.inval", at, lanes)
            if mbarrier is not None and self.cta.shadow is not None:
                mbarrier.ends(self, "mbarrier.inval", lanes)
            self.cta.mbarriers.pop(at, None)

    def mbarrier_arrive(self, address: PerLane, lanes: np.ndarray | None = None, expect: PerLane = 0,
                        arrival: Arrival = ONCE) -> np.ndarray:
        """mbarrier.arrive, once by every lane; before it announces `expect` bytes (mbarrier.arrive.expect_tx). Returns the
        state before it, uint64 [32]; arrival: what else it says."""
        instruction = "mbarrier.arrive.expect_tx" if np.any(expect) else "mbarrier.arrive"
        states = np.zeros(LANES, np.uint64)
        for at, taking in self._mbarrier_lanes(instruction, address, lanes):
            states |= self._arrive(instruction, self.cta, at, taking, expect, arrival)
        return states

    def mbarrier_arrive_remote(self, address: PerLane, cta: PerLane, lanes: np.ndarray | None = None,
                               expect: PerLane = 0, arrival: Arrival = ONCE) -> None:
        """mbarrier.arrive on the mbarrier at this address in CTA `cta` of the cluster, uniform or one per lane."""
        instruction = "mbarrier.arrive.shared::cluster"
        for at, taking in self._mbarrier_lanes(instruction, address, lanes):
            ranks = np.broadcast_to(cta, LANES)[taking]
            for rank in np.unique(ranks).tolist():
                self._arrive_at(instruction, rank, at, taking[ranks == rank], expect, arrival)

    def _arrive_at(self, instruction, rank, at, lanes, expect, arrival):
        """Arrives in CTA `rank` of the cluster, which should not have ended."""
        peers = self.cta.cluster.ctas
        if rank in range(len(peers)) and not peers[rank].running:
            if self.cta.launch.log is not None:
                self.cta.launch.log.add("early exit", None, self.place(lanes, instruction), does="come",
                                        cta=peers[rank].index, detail="it has ended already")
            return
        self._arrive(instruction, self.cta.peer(rank, instruction), at, lanes, expect, arrival)

    def _arrive(self, instruction, cta, at, lanes, expect, arrival):
        states, mbarrier = np.zeros(LANES, np.uint64), self.mbarrier_at(instruction, at, lanes, cta)
        if mbarrier is None:
            return states
        clock = knows = None if cta.shadow is None else cta.clocks.release(self.threads(lanes))
        outside = cta is not self.cta and arrival.reach < CLUSTER        # who waits there is not in its scope
        if cta is not self.cta and clock is not None and not arrival.relaxed and not outside:
            cta.visitors |= {int(t): (int(clock[0, t]), self.place(lanes, instruction)) for t in self.threads(lanes)}
        counts = np.broadcast_to(arrival.count, LANES)[lanes].astype(np.int64)
        states[lanes] = mbarrier.token - (np.cumsum(counts) - counts)
        if arrival.incomplete and int(counts.sum()) >= mbarrier.pending:
            self.misused(instruction, lanes, f"says .noComplete on {mbarrier} and is the last who arrives (leave it out)")
        if arrival.relaxed:
            clock = self.released_by_fences(CTA if cta is self.cta else CLUSTER, lanes)
        clock = None if outside else clock
        fences = None if clock is None or arrival.relaxed else self.fences(lanes)
        mbarrier.arrive(int(counts.sum()), int(np.broadcast_to(expect, LANES)[lanes].sum()), clock,
                        self.tells_of(instruction, lanes), arrival.drop, fences, knows)
        return states

    def mbarrier_expect(self, address: PerLane, bytes: PerLane, cta: int | None = None) -> None:
        """mbarrier.expect_tx, or of fewer than 0 bytes mbarrier.complete_tx, by every lane. cta: a rank, by default its
        own."""
        owner = self.cta if cta is None else self.peer(cta, "mbarrier.expect_tx")
        for at, lanes in self._mbarrier_lanes("mbarrier.expect_tx", address):
            instruction, total = "mbarrier.expect_tx", int(np.broadcast_to(bytes, LANES)[lanes].sum())
            mbarrier, tell = self.mbarrier_at(instruction, at, lanes, owner), self.tells_of(instruction, lanes)
            if mbarrier is not None and total < 0:
                mbarrier.complete(-total, tell)
            elif mbarrier is not None:
                mbarrier.asks_for_more(self, lanes, tell)
                mbarrier.announce(total, tell)

    @waits
    def mbarrier_wait(self, address: PerLane, parity: PerLane) -> Iterator[tuple]:
        """mbarrier.try_wait.parity in a loop: until the phase of this parity is complete."""
        self.agree(np.broadcast_to(parity, LANES), "the parity of an mbarrier")
        yield from self.mbarrier_try("mbarrier.try_wait.parity", address, parity)

    def mbarrier_try(self, instruction: str, address: PerLane, parity: PerLane, polls: bool = False,
                     relaxed: bool = False) -> Generator[tuple, None, np.ndarray]:
        """mbarrier.try_wait, or (polls) mbarrier.test_wait: yields what it waits for, as `waiting.waits` takes it, and
        returns bool [32]: whether the phase of a parity is complete, for each lane.

        It waits until it is; test_wait gives up where nobody can go on otherwise. A state's parity is that of its phase.
        Who waits where no mbarrier is goes on. relaxed: what others did before is not known behind it.
        """
        done, parities = np.zeros(LANES, bool), np.broadcast_to(parity, LANES).astype(np.int64) & 1
        for at, everyone in self._mbarrier_lanes(instruction, address):
            mbarrier = self.mbarrier_at(instruction, at, everyone)
            if mbarrier is None:
                done[everyone] = True
                continue
            for wanted in np.unique(parities[everyone]).tolist():
                lanes = everyone[parities[everyone] == wanted]
                phase = mbarrier.phase(wanted)
                complete = partial(getattr, phase, "done")
                yield Poll(complete) if polls else complete, (lambda m=mbarrier, w=wanted: m.waiting(w)), mbarrier
                if phase.done:
                    done[lanes] = True
                    self.cta.tell("wait", instruction, self, mbarrier=at)
                    if phase.clock is not None:
                        (self.seen_relaxed if relaxed else self.seen)(lanes, phase)
        return done

    def mbarrier_at(self, instruction: str, address: int, lanes: np.ndarray, cta: Any = None) -> Mbarrier | None:
        """The Mbarrier at a byte address of a CTA (this one), which lanes (int [n]) use; None where there is none, which is
        told."""
        mbarrier = (cta or self.cta).mbarriers.get(address)
        if mbarrier is None:
            known = ", ".join(map(str, sorted((cta or self.cta).mbarriers))) or "none"
            self.misused(instruction, lanes, f"finds no mbarrier at shared address {address} (there are {known})")
        else:
            mbarrier.used(self, instruction, lanes)
        return mbarrier

    def misused(self, instruction: str, lanes: np.ndarray, detail: str, site: Any = None, caller: Any = None,
                first: Place | None = None) -> None:
        """Tells of a hazard: lanes (int [n]) do what no mbarrier allows, now or at a site. Raises it where nobody looks for
        hazards."""
        what, log = ("bad mbarrier", first, self.place(lanes, instruction, site, caller)), self.cta.launch.log
        if log is None:
            raise error(hazard(*what, detail=detail))
        log.add(*what, detail=detail)

    def tells_of(self, instruction: str, lanes: np.ndarray) -> Callable[[str], None]:
        """The same of what happens later, by what lanes do here."""
        site, caller = self.site, self.caller
        return lambda detail: self.misused(instruction, lanes, detail, site, caller)

    def seen(self, lanes: np.ndarray, phase: Phase) -> None:
        """Lanes (int [n]) know what those knew who arrived in a Phase."""
        self.cta.clocks.acquire(self.threads(lanes), phase.clock)
        if phase.fences is not None:
            self.take_fences(phase.fences, lanes)

    def seen_relaxed(self, lanes: np.ndarray, phase: Phase) -> None:
        """They have seen a Phase, and know nothing by that until a fence: the Python front end has none."""

    def fence_mbarrier_init(self) -> None:
        """fence.mbarrier_init: a relaxed arrival at the cluster's barrier hands on the mbarriers that these threads have
        made, and nothing else."""
        for mbarrier in self.cta.mbarriers.values():
            mbarrier.fenced |= any(maker // LANES == self.number and self.active[maker % LANES] for maker in mbarrier.makers)

    def fenced_mbarriers(self) -> list[Mbarrier]:
        """Those that threads of this warp have made, and fenced."""
        return [made for made in self.cta.mbarriers.values() if made.fenced and made.makers[0] // LANES == self.number]

    def released_by_fences(self, reach: int, lanes: np.ndarray | None = None) -> np.ndarray | None:
        """The clock of what fences have released that reach so far (see `scopes`), of lanes (int [n]) or all; None if
        nothing, as in the Python front end, which has none."""
        return None

    def fence_proxy_async(self, space: str = "") -> None:
        """fence.proxy.async: what these threads know to be written is visible to TMA and wgmma; space: "shared" or "global",
        if it is of that memory alone."""
        planes = {"shared": (IN_SHARED,), "global": (IN_GLOBAL,)}.get(space, (IN_SHARED, IN_GLOBAL))
        if self.cta.shadow is not None:
            self.cta.clocks.fence(self.threads(np.flatnonzero(self.active)), planes)

    def threads(self, lanes: np.ndarray) -> np.ndarray:
        """int64 [n]: the numbers of lanes (int [n]) in the clocks."""
        return LANES * self.number + lanes

    def taking(self, lanes: np.ndarray | None) -> np.ndarray:
        """int64 [n]: the active lanes that are in the mask `lanes` (None: all)."""
        return np.flatnonzero(self.active if lanes is None else self.active & lanes)

    def _mbarrier_lanes(self, instruction, address, lanes=None):
        """[(byte address, int [n] lanes that use it)]; checked to lie in shared memory, 8-byte aligned."""
        taking = self.taking(lanes)
        if not taking.size:
            return []
        by_lane = lane_addresses(address, instruction)
        self.cta.shared.rows(instruction, by_lane, 8, np.bincount(taking, minlength=LANES) > 0)
        used = by_lane[taking]
        return [(at, taking[used == at]) for at in sorted(set(used.tolist()))]
