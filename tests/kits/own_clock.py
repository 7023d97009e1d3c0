"""A library of arrays whose clock only its calls advance, for what is measured in turns."""


class OwnClock:
    """now: seconds since it began."""

    def __init__(self):
        self.now = 0.0

    def free(self):
        """Nothing to free."""

    def repeated(self, calls, count):
        return lambda: [calls[i % len(calls)]() for i in range(count)]

    def elapsed(self, work):
        before = self.now
        work()
        return self.now - before
