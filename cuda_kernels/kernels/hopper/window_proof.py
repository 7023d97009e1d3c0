"""What is proved of the window over the rows of groups: a box of the kernel's coordinates has the rows that it should."""

import numpy as np

from cuda_kernels.kernels.hopper.window import WINDOW, in_window
from simlayout.errors import VerificationError
from simlayout.proofs.certificate import Certificate, digest


def prove_windows():
    """Proves that a box has the rows that it should have, of any height that TMA has. Returns a Certificate; raises
    VerificationError.

    >>> prove_windows().claims[0]
    'row i of a box from row r on is row r + i of the matrix where that is ahead of the end, else nothing'
    """
    found = []
    for row in (0, 1, WINDOW - 1, WINDOW, 12345):
        for end in range(max(1, row - 2), row + WINDOW + 3):
            below, at = (int(x) for x in in_window(row, end))
            i, first = np.arange(WINDOW), min(row, end - 1)
            exists, place = below + i < WINDOW, at + below + i - WINDOW
            if (exists != (first + i < end)).any() or (place != first + i).any() or min(below, at) < 0:
                raise VerificationError(f"a box from row {row} on that ends with row {end} lies wrong",
                                        {"row": row, "end": end})
            found.append((below, at))
    claims = ("row i of a box from row r on is row r + i of the matrix where that is ahead of the end, else nothing",
              "each box has a row of the matrix; no coordinate is negative")
    return Certificate("window", claims, {"row": 5, "end": WINDOW + 5}, digest=digest(np.array(found)))
