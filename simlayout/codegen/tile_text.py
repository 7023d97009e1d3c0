"""A tile and its access from text: the tile in any notation, the lanes, and to which of them a name of the domain belongs.

The command line and the explorer both read such text; where an error names an option (--domain), it is the command line's.
"""

import keyword
import re
from dataclasses import dataclass
from math import prod

from simlayout.algebra import dtype_of
from simlayout.algebra.nested import mode_sizes
from simlayout.codegen.index_text import parse_index
from simlayout.codegen.notations import SizesError, open_names, sized, tile
from simlayout.errors import LayoutError, SimlayoutError
from simlayout.hardware import arch_of
from simlayout.hardware.tables.arch import DEFAULT_ARCH, widest_load
from simlayout.proofs import Access
from simlayout.proofs.natural import natural_access

MAX_INSTRUCTIONS = 65_536
MAX_BYTES = 2**62       # byte addresses are computed in 64 bits


@dataclass(frozen=True)
class TileText:
    """What `simlayout check` is given, as text.

    layout: the tile in any notation; dtype: of its elements; op: the PTX name of the instruction, None for the widest load;
    lanes: the thread map as index text, None for the natural one; domain: pairs (name, size); arch: the chip; name: of the
    access.
    """

    layout: str
    dtype: str = "f16"
    op: str | None = None
    lanes: str | None = None
    domain: tuple = ()
    arch: str = "sm_90"
    name: str = "tile"


def access_of_text(options):
    """The Access that a TileText (or the command line's options, which have its fields) names; its excess is None: reported,
    not demanded."""
    return access_of_tile(options, *tile_of_text(options))


def access_of_tile(options, layout, loops):
    """The same of the tile and the loops that `tile_of_text` has read."""
    dtype, name = dtype_of(options.dtype), getattr(options, "name", None) or "tile"
    arch = getattr(options, "arch", DEFAULT_ARCH)
    op = options.op or widest_load(arch)
    if options.lanes is None:
        return natural_access(layout, op, dtype, name, arch)
    return access_of_lanes(name, op, layout, options.lanes, loops, dtype, arch)


def access_of_lanes(name, instruction, tile, lanes, loops, dtype, arch=DEFAULT_ARCH):
    """The Access of threads that give the coordinates of a text. loops: {name: trips}, perhaps with tid."""
    warp = arch_of(arch).lanes
    domain = {"tid": warp, **loops}
    if prod(domain.values()) > MAX_INSTRUCTIONS * warp:
        raise SimlayoutError(f"--domain spans {prod(domain.values()) // warp} instructions: at most {MAX_INSTRUCTIONS}")
    return Access(name, instruction, tile, parse_index(lanes, domain), domain, dtype.name, excess=None, arch=arch)


def tile_of_text(options, lanes=()):
    """(the tile of --layout and --domain, {name: trips} of the names of --domain that are loops of --lanes).

    The variables of a formula are its coordinates, every other name is of --lanes. For a text that takes rows and columns
    under any name (a bare swizzle, SWIZZLE_128B) the names in --lanes, and tid, are loops. A layout brings its own sizes.
    lanes: other texts of lanes, beside `options.lanes`.
    """
    lanes = [text for text in (options.lanes, *lanes) if text is not None]
    body, sizes = sized(options.layout)
    domain = domain_of(options.domain)
    names = open_names(body, {*sizes, *domain})
    used = {"tid", *(word for text in lanes for word in re.findall(r"[A-Za-z_]\w*", text, re.ASCII))}
    if names is None:
        own = {} if lanes or sizes else domain           # without --lanes they can only be the layout's own sizes, again
        loops = {name: size for name, size in domain.items() if name not in own}
    else:
        own = {name: size for name, size in domain.items() if (name in names if names else name not in used)}
        loops = {name: size for name, size in domain.items() if name not in own}
        both = sorted(used & {*own, *sizes} - {"tid"})
        if both:
            raise LayoutError(f"{both[0]!r} is a coordinate of {body!r} and a variable of --lanes: rename one of them")
    if loops and not lanes:
        known = f", which has {', '.join(names)}" if names else ""
        raise LayoutError(f"--domain {' '.join(loops)}: no variable of {body!r}{known}, so it could only name loops of "
                          "--lanes: give both or neither")
    read = _of_sizes if names is None else read_tile
    layout = read(options.layout, own, options.dtype)
    check_size(layout, dtype_of(options.dtype), arch_of(getattr(options, "arch", DEFAULT_ARCH)))
    return layout, loops


def read_tile(text, domain=None, dtype="f16"):
    """`tile`, whose error about sizes that are missing names the option that gives them."""
    try:
        return tile(text, domain, dtype)
    except SizesError as error:
        sizes = " ".join(f"{name}={size}" for name, size in error.sizes.items())
        raise SizesError(error.text, error.sizes, f"add --domain {sizes}") from None


def _of_sizes(text, sizes, dtype):
    """A layout, whose own sizes --domain may repeat."""
    layout = tile(text, dtype=dtype)
    own = mode_sizes(layout)
    if sizes and own != tuple(sizes.values()):
        raise LayoutError(f"{layout} brings its own sizes, {' x '.join(map(str, own))}, so --domain could only name the "
                          "loops of --lanes: give both or neither")
    return layout


def domain_of(pairs):
    """{name: size} of --domain, row before col."""
    domain = {}
    for name, size in pairs:
        if name in domain or keyword.iskeyword(name):
            raise SimlayoutError(f"--domain {name}={size}: {name!r} "
                                 f"{'is given twice' if name in domain else 'cannot be a name'}")
        domain[name] = size
    return domain


def check_size(tile, dtype, arch):
    """Refuses a tile without coordinates, or one that cannot be in shared memory, before anything walks over it."""
    if not hasattr(tile, "shape"):
        raise LayoutError(f"{tile} has no coordinates of its own: compose it with a layout, as in "
                          f"'{tile} o (16,64):(64,1)', or add --domain row=16 col=64")
    limit = arch.shared_bytes_per_cta
    if tile.size * dtype.bytes > limit:
        raise LayoutError(f"{tile} has {tile.size} elements of {dtype.bytes} bytes, {arch.name} {limit} bytes of "
                          f"{arch.vendor.shared_memory} per {arch.vendor.cta}: use a smaller tile")
    furthest = tile.cosize * dtype.bytes
    if furthest > MAX_BYTES:
        raise LayoutError(f"{tile} reaches {furthest} bytes far, {arch.name} has {limit} bytes of "
                          f"{arch.vendor.shared_memory} per {arch.vendor.cta}: use smaller strides")
