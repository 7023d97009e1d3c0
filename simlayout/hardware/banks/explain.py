"""The reason for a number of wavefronts, in words: phases, then banks, then words, then lanes; or what the rule of the
instruction has in their place: the lanes that clash, the wavefronts of a copy, the rounds of a loop."""

from dataclasses import replace
from textwrap import wrap

import numpy as np

from simlayout.hardware.banks import copies, model, retries
from simlayout.wording import counted, ranges

WIDTH = 100
_SHOWN_BANKS = 4
_SHOWN_WAVEFRONTS = 8
_SHOWN_ROUNDS = 4
_GLUE = "\u00a0"  # a space at which lines do not break


def explain(analysis, index=0):
    """Text, at most 100 columns, of one access: what every lane group costs, and the fullest banks of those above 1.

    For cp.async.ca the lane of every group that clashes most, and with whom; for .cg what shares a wavefront; for the
    atomics that are loops, their rounds.

    >>> from simlayout.hardware import analyze
    >>> print(analyze("ld.shared.b32", [128 * (lane // 16) for lane in range(32)]).explain())    # doctest: +ELLIPSIS
    ld.shared.b32, access 0 of 1 on sm_90: 2 wavefronts, ideal 1, excess 1, conflicts 1
      phase 0, lanes 0-31: 2 wavefronts
        bank 0: word 0 (lanes 0-15), word 32 (lanes 16-31)
      measured: explains ...
    >>> tile = [16 * lane for lane in range(32)]
    >>> print(analyze("cp.async.cg.16", tile, sources=tile).explain())    # doctest: +ELLIPSIS
    cp.async.cg.16, access 0 of 1 on sm_90: 4 wavefronts, ideal 4, excess 0, conflicts 0
      wavefront 0: global line 0 -> shared line 0, lanes 0-7
      wavefront 1: global line 1 -> shared line 1, lanes 8-15
      wavefront 2: global line 2 -> shared line 2, lanes 16-23
      wavefront 3: global line 3 -> shared line 3, lanes 24-31
      measured: bounds ...
    """
    bounded = analysis.at_least[index] < analysis.at_most[index]
    lines = _wrapped(_heading(analysis, index), 0) + _REASONS[analysis.instruction.rule](analysis, index)
    if analysis.loads[index]:
        lines += _wrapped(f"and {counted(int(analysis.loads[index]), 'wavefront')} of the loads in the loop, which count "
                          f"as loads", 2)
    if analysis.by_rival is not None:
        lines += _wrapped(_by_the_other_rule(analysis, index), 2)
    if bounded:
        lines += _wrapped(f"not known exactly: {analysis.caveat}", 2)
    return "\n".join(lines + _wrapped(str(analysis.provenance), 2))


def _heading(analysis, index):
    """The totals as a sentence."""
    wavefronts, ideal, excess, conflicts, low, high = (
        int(getattr(analysis, name)[index])
        for name in ("wavefronts", "ideal", "excess", "conflicts", "at_least", "at_most"))
    called = analysis.arch.vendor.wavefront
    text = counted(wavefronts, called)
    if low < high:
        text = f"between {low} and {counted(high, called)}, taken as {wavefronts}"
    return (f"{analysis.instruction}, access {index % len(analysis)} of {len(analysis)} on {analysis.arch.name}: "
            f"{text}, ideal {ideal}, excess {excess}, conflicts {conflicts}")


def _by_the_other_rule(analysis, index):
    """What the rule of the sources that disagree makes of an access, as a sentence."""
    own, used = analysis.instruction, analysis.row(index)
    other = own if used is own.rival else own.rival
    one = slice(index, index + 1) if index >= 0 else slice(index, index + 1 or None)
    total, ideal = (int(x[0]) for x in model.wavefronts(other, analysis.addresses[one], analysis.active[one]))
    rule = f"{counted(len(other.groups), 'phase')} of {len(other.groups[0])} lanes, {other.banks} banks"
    passes = counted(total, analysis.arch.vendor.wavefront)
    return f"by the other rule ({rule}): {passes}, ideal {ideal}, excess {total - ideal}"


def _by_banks(analysis, index):
    """Every lane group and its fullest banks."""
    row, addresses, active = analysis.row(index), analysis.addresses[index], analysis.active[index]
    groups, pairing = _groups(row, addresses, active)
    lines = _wrapped(pairing, 2)
    for title, lanes in _titled(row, groups, active):
        lines += _group(row, title, addresses, lanes, analysis.arch.vendor.wavefront)
    if row.times > 1:
        lines += _wrapped(f"every group passes through the banks {row.times} times", 2)
    return lines


def _titled(row, groups, active):
    """(how the line of a lane group begins, its active lanes) for each."""
    for number, group in enumerate(groups):
        yield (f"{'matrix' if row.is_matrix else 'phase'} {number}, lanes {ranges(group)}: ",
               [lane for lane in group if active[lane]])


def _by_clashes(analysis, index):
    """cp.async.ca: the lane of every group that meets most others."""
    row, addresses, active = analysis.instruction, analysis.addresses[index], analysis.active[index]
    sources = addresses if analysis.sources is None else analysis.sources[index]
    read = active if analysis.valid is None else active & (analysis.valid[index] > 0)
    lines = []
    for title, lanes in _titled(row, row.groups, active):
        if lanes:
            ends = (x[None, lanes] for x in (addresses, active, sources, read))
            written, fetched = (table[0] for table in copies.clashes(row.bytes, *ends))
            met = (written | fetched).sum(axis=1)
            most = int(met.argmax())
            lines.append(f"  {title}{counted(int(met[most]), 'wavefront')}")
            if met[most] > 1:
                fetched = fetched if analysis.sources is not None else np.zeros_like(fetched)
                lines += _wrapped(_clash(row, lanes, most, addresses, sources, written[most], fetched[most]), 4)
        else:
            lines.append(f"  {title}no active lane, 0 wavefronts")
    return lines


def _clash(row, lanes, which, addresses, sources, written, fetched):
    """Whom one lane meets, and in which banks; which: its place in lanes; written, fetched: bool per lane, itself too."""
    lane, clashes = lanes[which], []
    for verb, place, there in (("writes", addresses[lane], written), ("reads", sources[lane], fetched)):
        others = [other for other, meets in zip(lanes, there, strict=True) if meets and other != lane]
        if others:
            bank = _wide("bank", row, int(place) // row.bytes % (128 // row.bytes))
            clashes.append(f"with {_named_lanes(others)}, as it {verb} {bank}")
    return f"lane{_GLUE}{lane} clashes most: {'; '.join(clashes)}"


def _by_lines(analysis, index):
    """cp.async.cg: what shares a wavefront, and with a src-size the zeros."""
    addresses, active = analysis.addresses[index], analysis.active[index]
    alive = copies.survivors(addresses[None], active[None])[0]
    lines = []
    if overwritten := np.flatnonzero(active & ~alive).tolist():
        lines += _wrapped(f"another lane, lower, writes the same place: {_named_lanes(overwritten)}", 2)
    if analysis.valid is not None:
        alive = alive & (analysis.valid[index] > 0)
    if analysis.sources is None:
        held = copies.lanes_by(addresses // 128, alive)
        sentences = [f"at least one wavefront: shared line {line}, {_named_lanes(lanes)}" for line, lanes in held.items()]
    else:
        sources = analysis.sources[index]
        held = copies.lanes_by(copies.wavefront_of(addresses[None], sources[None], alive[None])[0], alive)
        sentences = [f"wavefront {i}: global line {sources[lanes[0]] // 128} -> shared line {addresses[lanes[0]] // 128}, "
                     f"{_named_lanes(lanes)}" for i, lanes in enumerate(held.values())]
    for line in sentences[:_SHOWN_WAVEFRONTS]:
        lines += _wrapped(line, 2)
    if len(sentences) > _SHOWN_WAVEFRONTS:
        lines.append(f"  and {len(sentences) - _SHOWN_WAVEFRONTS} more")
    if analysis.valid is None:
        return lines
    if analysis.valid.dtype == bool:
        analysis = replace(analysis, mask=analysis.active & ~analysis.valid)
        zeros = _by_clashes(analysis, index) if analysis.mask[index].any() else None
        return lines if zeros is None else [*lines, "  and for the zeros of the other lanes, as cp.async.ca:", *zeros]
    return [*lines, "  and for the zeros of the src-size, as cp.async.ca:", *_by_clashes(analysis, index)]


def _by_rounds(analysis, index):
    """A loop of exchanges: who tries and who succeeds in each round."""
    row, addresses, active = analysis.instruction, analysis.addresses[index][None], analysis.active[index][None]
    rounds = []
    for pending, succeeded in retries.rounds(row, addresses, active):
        tried, done = (np.flatnonzero(lanes[0]).tolist() for lanes in (pending, succeeded))
        cost = int(retries.exchanges(row, pending)[0])
        rounds.append((cost, f"{_named_lanes(tried)} {'try' if len(tried) > 1 else 'tries'}, {_named_lanes(done)} "
                           f"{'succeed' if len(done) > 1 else 'succeeds'}"))
    lines = []
    for number, (cost, text) in enumerate(rounds[:_SHOWN_ROUNDS]):
        lines += _wrapped(f"round {number}: {counted(cost, 'wavefront')}: {text}", 2)
    if rest := rounds[_SHOWN_ROUNDS:]:
        lines.append(f"  and {counted(len(rest), 'more round')}: {counted(sum(c for c, _ in rest), 'wavefront')}")
    return lines


_REASONS = {"banks": _by_banks, "copy": _by_clashes, "bypass": _by_lines, "retry": _by_rounds}
"""The rule of a row -> a function of (analysis, index) that gives the lines between the totals and the provenance."""


def _groups(row, addresses, active):
    """The lane groups that serve the access, and a sentence on pairing (empty where pairing changes nothing)."""
    if not row.paired_groups:
        return row.groups, ""
    keys = model.lane_keys(addresses[None], active[None], row.bytes, row.merges)
    disagree = {}
    for step in (1, 2):
        agree = model.partners_agree(keys, step)[0]
        if agree.all():
            return row.paired_groups, (f"paired: every active lane has the address of lane ^ {step}, or no active "
                                       f"partner there, so lane groups merge")
        lower = np.arange(32).reshape(-1, 2, step)[:, 0].ravel()
        disagree[step] = int(lower[np.argmin(agree)])
    return row.groups, "not paired: " + " and ".join(
        f"lanes {lane} and {lane ^ step} (^ {step})" for step, lane in disagree.items()
    ) + " have different addresses, so lane groups stay apart"


def _group(row, title, addresses, lanes, called):
    """The lines of one lane group, given its active lanes. called: what one wavefront is called."""
    if not lanes:
        return [f"  {title}no active lane, {counted(0, called)}"]
    held = _words_by_bank(row, addresses, lanes)
    cost = {bank: _load(row, words) for bank, words in held.items()}
    most = max(cost.values())
    lines = [f"  {title}{counted(most * row.times, called)}"]
    if most == 1:
        return [f"{lines[0]}: {_apart(row, held)}"]
    full = sorted(bank for bank in cost if cost[bank] == most)
    for bank in full[:_SHOWN_BANKS]:
        lines += _wrapped(_bank(row, bank, held[bank]), 4)
    if len(full) > _SHOWN_BANKS:
        lines += _wrapped(f"and as full: {', '.join(_wide('bank', row, b) for b in full[_SHOWN_BANKS:])}", 4)
    return lines


def _apart(row, held):
    """Of a lane group without conflicts how its words lie: "32 words in 32 banks".

    >>> from simlayout.hardware import analyze
    >>> print(analyze("ld.shared.b32", [4 * (lane % 3) for lane in range(32)]).explain().splitlines()[1])
      phase 0, lanes 0-31: 1 wavefront: 3 words in 3 banks
    """
    words = max(row.bytes // model.WORD_BYTES, 1) * len(held)       # a word for each bank
    return f"{counted(words, 'word')} in {counted(words, 'bank')}"


def _words_by_bank(row, addresses, lanes):
    """{bank: {word: lanes}} in wide words, as wide as the access (see `banks`), at least 4 bytes."""
    size = max(row.bytes, model.WORD_BYTES)
    count = row.banks * model.WORD_BYTES // size
    held = {}
    for lane in lanes:
        word = int(addresses[lane]) // size
        held.setdefault(word % count, {}).setdefault(word, []).append(lane)
    return held


def _load(row, words):
    """Wavefronts that one bank needs."""
    return len(words) if row.merges else sum(map(len, words.values()))


def _bank(row, bank, words):
    """The words of one bank and the lanes that want them."""
    each = "" if row.merges else ", each in turn"
    held = (f"{_wide('word', row, word)} ({_named_lanes(lanes)}{each if len(lanes) > 1 else ''})"
            for word, lanes in sorted(words.items()))
    return f"{_wide('bank', row, bank)}: {', '.join(held)}"


def _wide(what, row, number):
    """"bank 3" or "banks 12-15": a wide bank or word in units of 4 bytes."""
    words = max(row.bytes // model.WORD_BYTES, 1)
    first = number * words
    return f"{what}{_GLUE}{first}" if words == 1 else f"{what}s{_GLUE}{first}-{first + words - 1}"


def _named_lanes(lanes):
    return f"lane{_GLUE}{lanes[0]}" if len(lanes) == 1 else f"lanes{_GLUE}{ranges(lanes)}"


def _wrapped(text, indent):
    """Lines of at most WIDTH columns, the later ones indented further."""
    lines = wrap(text, WIDTH, initial_indent=" " * indent, subsequent_indent=" " * (indent + 4))
    return [line.replace(_GLUE, " ") for line in lines]
