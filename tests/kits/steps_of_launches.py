"""Which attempts at a launch `attempts.in_two_steps` makes, and a launch by one of them alone."""

from simlayout.machine.ptx import entry


class _Recorded:
    """Attempts, of which each one made is noted in `seen`, by its name."""

    def __init__(self, attempts, seen):
        self._attempts, self._seen = attempts, seen

    def __getattr__(self, name):
        def made():
            self._seen.append(name)
            return getattr(self._attempts, name)()

        return made


def recorded(patch):
    """A list of the names of attempts, as they are made from now on."""
    seen, made = [], entry.in_two_steps
    patch.setattr(entry, "in_two_steps", lambda attempts, *how: made(_Recorded(attempts, seen), *how))
    return seen


def in_one_step(patch):
    """Launches are by the shadows from now on."""
    patch.setattr(entry, "in_two_steps", lambda attempts, *how: attempts.shadowed())
