"""Which word each lane gets in which wavefront: the bank x wavefront grid as data, which a picture only draws."""

from dataclasses import dataclass
from numbers import Integral

from simlayout.errors import SimlayoutError, brief, require
from simlayout.hardware.banks import copies, model
from simlayout.hardware.banks.analysis import Analysis


@dataclass(frozen=True)
class Served:
    """One word that a wavefront delivers: it fills `width` banks from `bank` on and serves `lanes` at once.

    wavefront: counted within its phase. word: the first of its 4-byte words (1, 2 or 4 of them, as wide as the access).
    """

    wavefront: int
    bank: int
    width: int
    word: int
    lanes: tuple


@dataclass(frozen=True)
class Phase:
    """A group of lanes served together: its lanes, how many wavefronts it takes, and every word in them.

    times: how often the group passes through the banks (2 for compare-and-swap).
    """

    lanes: tuple
    wavefronts: int
    served: tuple
    times: int = 1

    @property
    def extra(self) -> "tuple[Served, ...]":
        """The words in wavefronts beyond the first: what a conflict-free access would not need."""
        return tuple(s for s in self.served if s.wavefront)


def phases(analysis: Analysis, index: int = 0) -> tuple[Phase, ...]:
    """The phases of access `index`; their wavefronts add up to `analysis.wavefronts[index]`.

    Of cp.async.ca they are those of the destinations. Of cp.async.cg, which has no groups of lanes, a phase is what shares a
    wavefront: a line of shared memory, and of the global memory that is read if it is known. Atomics that retry have rounds,
    not phases: SimlayoutError.

    The hardware's counters tell how many wavefronts a phase takes, not which word goes in which. Here words go first
    come, first served in order of their lanes, which is a choice of presentation. Raises SimlayoutError for an index
    that the analysis does not have.

    >>> from simlayout.hardware import analyze
    >>> phase, = phases(analyze("ld.shared.b32", [128 * (lane // 16) for lane in range(32)]))
    >>> [(s.wavefront, s.bank, s.word, len(s.lanes)) for s in phase.served]
    [(0, 0, 0, 16), (1, 0, 32, 16)]
    """
    require(Analysis, "phases", analysis)
    if not isinstance(index, Integral) or isinstance(index, bool):
        raise SimlayoutError(f"index {brief(index)}: give the number of an instruction, an int; simlayout.plots.save writes "
                             "a picture to a file")
    if not 0 <= index < len(analysis):
        raise SimlayoutError(f"index {index}: the analysis has {len(analysis)} instructions, 0 to {len(analysis) - 1}")
    row, addresses, active = analysis.row(index), analysis.addresses[index], analysis.active[index]
    if row.rule == "retry":
        raise SimlayoutError(f"{row} is a loop, whose rounds are no phases of banks to draw: `explain` lists them")
    if row.rule == "bypass" and (groups := _past_cache(analysis, index)):
        return tuple(_phase(row, group, addresses, active) for group in groups)
    keys = model.lane_keys(addresses[None], active[None], row.bytes, row.merges)
    merged = row.paired_groups and bool(model.paired(keys)[0])
    groups = row.paired_groups if merged and row.paired_groups else row.groups
    return tuple(_phase(row, group, addresses, active) for group in groups)


def _past_cache(analysis, index):
    """The lanes of cp.async.cg that share a wavefront, for each; None where these are not what was counted (zeros of a
    src-size, or destinations that take more wavefronts than lines)."""
    addresses, active = analysis.addresses[[index]], analysis.active[[index]]
    alive = copies.survivors(addresses, active)
    if analysis.sources is None:
        place = addresses // copies.LINE_BYTES
    else:
        place = copies.wavefront_of(addresses, analysis.sources[[index]], alive)
    shared = copies.lanes_by(place[0], alive[0])
    if analysis.valid is not None or len(shared) != analysis.wavefronts[index]:
        return None
    return tuple(map(tuple, shared.values()))


def _phase(row, group, addresses, active):
    """The phase of one lane group."""
    size = max(row.bytes, model.WORD_BYTES)
    width = size // model.WORD_BYTES
    queues = {}                                 # wide bank -> [(wide word, lanes)], in the order of their wavefronts
    for lane in (lane for lane in group if active[lane]):
        word = int(addresses[lane]) // size
        queue = queues.setdefault(word % (row.banks // width), [])
        waiting = next((lanes for queued, lanes in queue if queued == word), None) if row.merges else None
        if waiting is None:
            queue.append((word, [lane]))
        else:
            waiting.append(lane)
    passes = max(map(len, queues.values()), default=0)
    served = [Served(turn * passes + wavefront, bank * width, width, word * width, tuple(lanes))
              for turn in range(row.times)
              for bank, queue in sorted(queues.items())
              for wavefront, (word, lanes) in enumerate(queue)]
    served.sort(key=lambda s: (s.wavefront, s.bank))
    return Phase(group, passes * row.times, tuple(served), row.times)
