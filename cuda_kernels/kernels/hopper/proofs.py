"""What is proved of the kernels' own code by running it: that an epilogue reads what it should, by reads that note what they
are asked for, and that a box of the window over the rows of groups has the rows that it should."""

import numpy as np

from cuda_kernels.kernels.hopper.epilogue import EPILOGUES, in_pairs, make_add_bias, make_read_like
from cuda_kernels.kernels.hopper.window import WINDOW, in_window
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import VerificationError
from simlayout.proofs.certificate import Certificate, digest

PITCH, SHORT = 512, 3
"""Elements from line to line of the C of the proof; rows that its band of 64 rows lacks in the second case."""


def reads_of(config, M, N):
    """[(name, rows, columns, bytes from the start, whether it is read)] of what a warpgroup reads for a C of M <= 64 rows
    and N <= tile_n columns: arrays [128] for each of the elements whose sums its threads hold; of a bias rows are None, or
    columns.
    """
    words, size, t = EPILOGUES[config.epilogue], TYPES[config.out].bytes, np.arange(128)
    row, col = t // 32 * 16 + t % 32 // 4, t % 4 * 2
    extent, noted, found = (M, N, (PITCH, 0, 0, (1.0, 1.0, 0))), [], []

    def one(address, exists):
        noted.append((address, exists))
        return 0

    def pair(address, exists):
        noted.extend([(address, exists), (address + size, exists)])
        return 0, 0

    begin, read = make_read_like(config, one, pair)
    begin_bias, add_bias = make_add_bias(config, one, pair, lambda x, y: 0)
    held = [(row, col), (row, col + 1), (row + 8, col), (row + 8, col + 1)]
    for ahead in range(0, config.tile_n, 8):
        for name in words.like_c:
            noted.clear()
            reading = begin((0, 0, 0), row, col, extent)
            read(reading[0], reading, ahead, N - col - ahead, extent)
            found += [(name, r, c + ahead, *note) for (r, c), note in zip(held, noted, strict=True)]
        noted.clear()
        add_bias(begin_bias(row, extent), col + ahead, N - col - ahead, extent, (0, 0, 0, 0))
        of = [(row, None), (row + 8, None)] if words.bias == "m" else [(None, col + ahead), (None, col + ahead + 1)]
        found += [("bias", *places, *note) for places, note in zip(of, noted)]
    return found


def prove_reads(config):
    """Proves that every thread reads the residual, what is multiplied and the bias of the elements whose sums it holds,
    where C has them, and nothing where C has none. Returns a Certificate; raises VerificationError with the first fault.

    >>> from cuda_kernels.kernels.hopper.config import Hopper
    >>> prove_reads(Hopper(tile_n=64, epilogue="residual bias_n")).claims[0]
    'residual, bias: each of 64 x 64 elements where C has it, by the thread that holds its sum'
    """
    size, down, places = TYPES[config.out].bytes, config.c_major == "M", {}
    for M, N in ((64, config.tile_n), (64 - SHORT, config.tile_n - 1 - in_pairs(config))):     # pairs exist or not
        for name, rows, cols, at, exists in reads_of(config, M, N):
            r, c = (0 if x is None else x for x in (rows, cols))
            place = size * (r + c if name == "bias" else c * PITCH + r if down else r * PITCH + c)
            there = np.broadcast_to((r < M) & (c < N), 128)
            wrong = (there != (np.asarray(exists) != 0)) | there & (at != place)
            if wrong.any():
                thread = int(np.argmax(wrong))
                raise VerificationError(f"{name}: thread {thread} reads byte {np.broadcast_to(at, 128)[thread]} for a C of "
                                        f"{M} x {N}, and its element is at {place[thread]}", {"thread": thread})
            places.setdefault(name, set()).update(place.tolist())
    words = EPILOGUES[config.epilogue]
    lines = 64 if words.bias == "m" else config.tile_n
    if any(len(of) != (lines if name == "bias" else 64 * config.tile_n) for name, of in places.items()):
        raise VerificationError("some elements are read by no thread", {})
    names, table = ", ".join(words.reads), sorted((name, *sorted(of)) for name, of in places.items())
    claims = (f"{names}: each of 64 x {config.tile_n} elements where C has it, by the thread that holds its sum",
              "nothing of a row or column that C lacks")
    return Certificate("epilogue", claims, {"tid": 128, "group": config.tile_n // 8},
                       digest=digest(np.concatenate([row[1:] for row in table])))


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
