"""What tuning found, on disk: a file for each product on each GPU, driver and version, beside the compiled kernels.

A file is written whole or not at all, so two processes that tune at once leave the record of one or the other. It holds JSON
behind a checksum. One that does not check, that says another product than its name, or whose configuration no kernel can
have any more, is ignored with a warning. A process reads a product's file once.
"""

import hashlib
import json
import warnings
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from math import inf
from typing import get_origin, get_type_hints

from cuda_kernels.build import cache
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.matmul.choose.choice import suited
from cuda_kernels.matmul.choose.wanted import Wanted
from simlayout.errors import ParseError, SimlayoutError
from simlayout.files import check_writable, make_folder, write_whole

SUFFIX = ".tuned"
_FIRST = "simlayout tuned 1"
"""How a file begins; the checksum of the rest follows on the line."""


HOMELESS = "this user has no home to keep results in: set SIMLAYOUT_CACHE to a folder"

_here: dict = {}
"""What this process has measured itself: {(place, wanted): Kept}."""


@dataclass(frozen=True)
class Place:
    """Where a measurement counts. gpu: the name of the GPU; sms: its SMs; driver: its version number, 1000 times the major
    one and 10 times the minor one; version: of simlayout."""

    gpu: str
    sms: int
    driver: int
    version: str

    def __str__(self):
        return (f"{self.gpu} ({self.sms} SMs), driver {self.driver // 1000}.{self.driver % 1000 // 10}, simlayout "
                f"{self.version}")


@dataclass(frozen=True)
class Kept:
    """The best configuration that was measured. us: its microseconds; chosen_us: those of the one that the estimate chose, 0
    where that was not right; tried: how many were measured; date: ISO."""

    place: Place
    wanted: Wanted
    config: Hopper
    us: float
    chosen_us: float
    tried: int
    date: str

    @property
    def result(self) -> str:
        """The times in words."""
        gained = f"{self.chosen_us / self.us:.3f} times as fast as the estimate's choice ({self.chosen_us:.2f} us)"
        return f"{self.us:.2f} us, {gained if self.chosen_us else 'and the choice of the estimate is not right'}"


def place_of(cuda, device):
    """The Place of a device."""
    from simlayout import __version__

    return Place(cuda.name(device), cuda.multiprocessors(device), cuda.version, __version__)


def file_of(place, wanted):
    """Where a product's best is kept; None where the user has no cache (`cuda_kernels.build.cache`)."""
    folder = cache.folder()
    return folder and folder / _name(place, wanted)


def _name(place, wanted):
    return f"{hashlib.sha256(repr((place, wanted)).encode()).hexdigest()[:40]}{SUFFIX}"


def kept(cuda, device, wanted):
    """The configuration that is kept for what is wanted on this GPU, or None; read once per process."""
    place = place_of(cuda, device)
    path = file_of(place, wanted)
    found = _here.get((place, wanted)) or (path and _read_once(path))
    return found and found.config


def keep(found):
    """Keeps a Kept, in this process and on disk; returns the Path. Raises SimlayoutError where it cannot be written."""
    _here[found.place, found.wanted] = found
    path = file_of(found.place, found.wanted)
    if path is None:
        raise SimlayoutError(HOMELESS)
    make_folder(path.parent)
    body = json.dumps(asdict(found), indent=1) + "\n"
    write_whole(path, f"{_FIRST} {hashlib.sha256(body.encode()).hexdigest()}\n{body}")
    _read_once.cache_clear()
    return path


def all_kept():
    """[Kept] of all that is kept on disk, of every GPU and version; warns of files that are damaged."""
    return [one for path in _files() if (one := _read_once(path))]


def check_room():
    """Raises SimlayoutError where nothing could be kept: to ask before long work, not after it."""
    folder = cache.folder()
    if folder is None:
        raise SimlayoutError(HOMELESS)
    make_folder(folder)
    check_writable(folder / f"x{SUFFIX}")


def forget(sizes=None):
    """Deletes what is kept, on every GPU: all of it, damaged files too, or of products of these sizes (M, N, K), and of
    their transposes. Returns how many files."""
    def is_meant(wanted):
        return sizes is None or wanted.K == sizes[2] and {wanted.M, wanted.N} == set(sizes[:2])

    gone = _files() if sizes is None else [file_of(one.place, one.wanted) for one in all_kept() if is_meant(one.wanted)]
    for path in gone:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise SimlayoutError(f"cannot delete {path}: {error.strerror}") from None
    for key in [key for key in _here if is_meant(key[1])]:
        del _here[key]
    _read_once.cache_clear()
    return len(gone)


def _files():
    folder = cache.folder()
    try:
        return sorted(folder.glob(f"*{SUFFIX}")) if folder else []
    except OSError:
        return []


@lru_cache(4096)
def _read_once(path):
    """The Kept of a file; None where there is none, and with a warning where it is damaged."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    try:
        return parse(path, data)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        text = f"{path} is ignored: {error}; `simlayout tune --forget` deletes what is kept"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
        return None


def parse(path, data):
    """The Kept in the bytes of a file, of which `path` is the Path. Raises ParseError, and whatever else JSON of another
    shape leads to."""
    head, _, body = data.partition(b"\n")
    if head != f"{_FIRST} {hashlib.sha256(body).hexdigest()}".encode():
        raise ParseError("it is no record of `simlayout tune`, or damaged")
    record = json.loads(body)
    untold = {field.name for field in fields(Wanted)} - record["wanted"].keys()
    untold |= {"early"} - record["config"].keys()        # measured while nothing overlapped, which another one may win
    if untold:
        raise ParseError(f"an older version kept it, which does not say {', '.join(sorted(untold))}: measure it anew")
    record["wanted"]["types"] = tuple(record["wanted"]["types"])
    place, wanted = _made(Place, record.pop("place")), _made(Wanted, record.pop("wanted"))
    options = _made(Hopper, record.pop("config"))
    config = suited(options, wanted)
    if path.name != _name(place, wanted):
        raise ParseError("it is of another product than its name says")
    if config is None or min(config.group, config.buffers) < 1:
        raise ParseError(f"its configuration does not suit {wanted}")
    found = _made(Kept, record | {"place": place, "wanted": wanted, "config": config})
    if not 0 < found.us < inf:
        raise ParseError(f"us = {found.us} is no time")
    return found


def _made(kind, values):
    """A dataclass of values that are of the types that it says. Raises ParseError; TypeError where one is missing."""
    types = get_type_hints(kind)
    for name, value in values.items():
        if name not in types:
            raise ParseError(f"there is no {name!r} in {kind.__name__}")
        plain = get_origin(types[name]) or types[name]
        if type(value) is not plain:
            raise ParseError(f"{name} = {value!r} is no {plain.__name__}")
    return kind(**values)
