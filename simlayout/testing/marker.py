"""The marker `simlayout` of pytest: options of the launches of a test, a class or a module."""

MARKER = ("simlayout(arch='sm_90', hazards='raise', strict=True): options of the fixture `simulate` in this test, as of "
          "simlayout.simulate; strict=False: hazards and excess of its launches are no failure under --simlayout-strict")


HAZARDS = "report", "raise", "off"
"""What to do about hazards, as of simlayout.simulate, which is not loaded here."""

TAKEN = {"arch": None, "hazards": HAZARDS, "strict": (True, False)}
"""What the marker takes: option -> its values; None: any, which the fixture looks at."""


def fault_of(item):
    """What is wrong with the markers `simlayout` of a test, its class and its module, as a sentence; "" if nothing is."""
    for marker in item.iter_markers("simlayout"):
        strange = [*map(repr, marker.args), *(f"{name}={value!r}" for name, value in marker.kwargs.items()
                                              if name not in TAKEN or TAKEN[name] and value not in TAKEN[name])]
        if strange:
            return (f"the marker simlayout does not take {', '.join(strange)}: write arch=, hazards= of "
                    f"{', '.join(HAZARDS)}, or strict= of True, False")
    return ""


def options_of(item):
    """What the markers `simlayout` of a test, its class and its module say, the nearest first."""
    found = {}
    for marker in reversed(list(item.iter_markers("simlayout"))):
        found |= marker.kwargs
    return found
