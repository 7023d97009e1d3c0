"""AMD's LDS, one lane and one dword at a time."""


def slow(groups, banks, size, addresses, active):
    """(passes, phases with an active lane, conflicts)."""
    passes = busy = conflicts = 0
    for group in groups:
        queue = {}
        for lane in group:
            if active[lane]:
                for byte in range(addresses[lane], addresses[lane] + size):
                    dword = byte // 4
                    queue.setdefault(dword % banks, set()).add(dword)
        if queue:
            base = max(map(len, queue.values()))
            passes, busy, conflicts = passes + base, busy + 1, conflicts + base - 1
    return passes, busy, conflicts
