"""The reason for a number of wavefronts, in words: phases, then banks, then words, then lanes."""

from textwrap import wrap

import numpy as np

from simlayout.hardware import banks

WIDTH = 100
_SHOWN_BANKS = 4
_GLUE = "\u00a0"  # a space at which lines do not break


def explain(analysis, index=0):
    """Text, at most 100 columns, of one access: what every lane group costs, and the fullest banks of those above 1.

    >>> from simlayout.hardware import analyze
    >>> print(analyze("ld.shared.b32", [128 * (lane // 16) for lane in range(32)]).explain())
    ld.shared.b32, access 0 of 1 on sm_90: 2 wavefronts, ideal 1, excess 1, conflicts 1
      phase 0, lanes 0-31: 2 wavefronts
        bank 0: word 0 (lanes 0-15), word 32 (lanes 16-31)
      measured: explains 3,839 of 3,839 cases of 8-, 16- and 32-bit ld.shared and st.shared; measured on
          one NVIDIA H200 (driver 580.159, CUDA 13.0) with Nsight Compute 2025.3.1, 2026-11-21
    """
    row = analysis.instruction
    addresses, active = analysis.addresses[index], analysis.active[index]
    groups, pairing = _groups(row, addresses, active)
    lines = [_heading(analysis, index)]
    if pairing:
        lines += _wrapped(pairing, 2)
    for number, group in enumerate(groups):
        title = f"{'matrix' if row.needs_whole_warp else 'phase'} {number}, lanes {_ranges(group)}: "
        lines += _group(row, title, addresses, [lane for lane in group if active[lane]])
    if row.times > 1:
        lines += _wrapped(f"every group passes through the banks {row.times} times", 2)
    if not row.exact:
        lines += _wrapped(f"not known exactly: {row.caveat}", 2)
    return "\n".join(lines + _wrapped(str(analysis.provenance), 2))


def _heading(analysis, index):
    """The totals on one line."""
    wavefronts, ideal, excess, conflicts = (int(getattr(analysis, name)[index])
                                            for name in ("wavefronts", "ideal", "excess", "conflicts"))
    number = index % len(analysis)
    return (f"{analysis.instruction}, access {number} of {len(analysis)} on {analysis.arch.name}: "
            f"{_count(wavefronts, 'wavefront')}, ideal {ideal}, excess {excess}, conflicts {conflicts}")


def _groups(row, addresses, active):
    """The lane groups that serve the access, and a sentence on pairing (empty where pairing changes nothing)."""
    if not row.paired_groups:
        return row.groups, ""
    keys = banks.lane_keys(addresses[None], active[None], row.bytes, row.merges)
    disagree = {}
    for step in (1, 2):
        agree = banks.partners_agree(keys, step)[0]
        if agree.all():
            return row.paired_groups, (f"paired: every active lane has the address of lane ^ {step}, or no active "
                                       f"partner there, so lane groups merge")
        lower = np.arange(32).reshape(-1, 2, step)[:, 0].ravel()
        disagree[step] = int(lower[np.argmin(agree)])
    return row.groups, "not paired: " + " and ".join(
        f"lanes {lane} and {lane ^ step} (^ {step})" for step, lane in disagree.items()
    ) + " have different addresses, so lane groups stay apart"


def _group(row, title, addresses, lanes):
    """The lines of one lane group, given its active lanes."""
    if not lanes:
        return [f"  {title}no active lane, 0 wavefronts"]
    held = _words_by_bank(row, addresses, lanes)
    cost = {bank: _load(row, words) for bank, words in held.items()}
    most = max(cost.values())
    lines = [f"  {title}{_count(most * row.times, 'wavefront')}"]
    if most == 1:
        return lines
    full = sorted(bank for bank in cost if cost[bank] == most)
    for bank in full[:_SHOWN_BANKS]:
        lines += _wrapped(_bank(row, bank, held[bank]), 4)
    if len(full) > _SHOWN_BANKS:
        lines += _wrapped(f"and as full: {', '.join(_wide('bank', row, b) for b in full[_SHOWN_BANKS:])}", 4)
    return lines


def _words_by_bank(row, addresses, lanes):
    """{bank: {word: lanes}} in wide words, as wide as the access (see `banks`), at least 4 bytes."""
    size = max(row.bytes, banks.WORD_BYTES)
    count = banks.BANKS * banks.WORD_BYTES // size
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
    words = max(row.bytes // banks.WORD_BYTES, 1)
    first = number * words
    return f"{what}{_GLUE}{first}" if words == 1 else f"{what}s{_GLUE}{first}-{first + words - 1}"


def _named_lanes(lanes):
    return f"lane{_GLUE}{lanes[0]}" if len(lanes) == 1 else f"lanes{_GLUE}{_ranges(lanes)}"


def _ranges(numbers):
    """[0, 1, 2, 5] -> "0-2, 5"."""
    runs = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def _count(number, what):
    return f"{number} {what}" + ("" if number == 1 else "s")


def _wrapped(text, indent):
    """Lines of at most WIDTH columns, the later ones indented further."""
    lines = wrap(text, WIDTH, initial_indent=" " * indent, subsequent_indent=" " * (indent + 4))
    return [line.replace(_GLUE, " ") for line in lines]
