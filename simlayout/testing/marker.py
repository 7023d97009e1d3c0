"""The marker `simlayout` of pytest: options of the launches of a test, a class or a module."""

MARKER = ("simlayout(arch='sm_90', hazards='raise', strict=True): options of the fixture `simulate` in this test, as of "
          "simlayout.simulate; strict=False: hazards and excess of its launches are no failure under --simlayout-strict")


def options_of(item):
    """What the markers `simlayout` of a test, its class and its module say, the nearest first."""
    found = {}
    for marker in reversed(list(item.iter_markers("simlayout"))):
        found |= marker.kwargs
    return found
