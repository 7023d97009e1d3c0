"""What ptxas knows of special registers, as one table.

Seen in the SASS of ptxas 13.0: of two loads from addresses that are each made of a read of the register, whether both stay
(`once`), and whether the address is in a uniform register (`uniform`); `alike` as of that pass. What the PTX ISA says of a
register is `stays`. %ntid and %nctaid are constants of the launch, which are read anew each time.
"""

from typing import NamedTuple


class Special(NamedTuple):
    """A row. name: how the names of such registers begin; stays: whether it is the same for a thread wherever it is read;
    once: whether ptxas takes what is made of two reads for one; uniform: whether it is in a register that lanes share;
    alike: whether it is the same for all lanes of a warp."""

    name: str
    stays: bool
    once: bool
    uniform: bool
    alike: bool
    why: str


_ROWS = (
    Special("%tid", True, True, False, False, "S2R SR_TID, once"),
    Special("%laneid", True, True, False, False, "S2R SR_LANEID, once"),
    Special("%lanemask", True, True, False, False, "S2R SR_EQMASK, SR_LTMASK, once"),
    Special("%ntid", True, False, True, True, "ULDC of the launch, twice"),
    Special("%nctaid", True, False, True, True, "ULDC of the launch, twice"),
    Special("%ctaid", True, True, True, True, "S2UR SR_CTAID, once"),
    Special("%clusterid", True, True, False, True, "computed of SR_CTAID in each lane, once"),
    Special("%cluster_ctaid", True, True, False, True, "computed of SR_CTAID in each lane, once"),
    Special("%cluster", True, True, True, True, "constants of the launch, or SR_CgaCtaId, once"),
    Special("%nclusterid", True, True, True, True, "computed of constants, once"),
    Special("%nsmid", True, True, True, True, "a constant, once"),
    Special("%gridid", True, True, True, True, "a constant, once"),
    Special("%nwarpid", True, True, True, True, "S2UR SR_VIRTCFG, once"),
)
_OTHER = Special("", False, False, False, True, "%clock, %smid, %warpid and counters: a thread may read others later")


def special(name: str) -> Special:
    """The row of a special register.

    >>> special("%tid.x").alike, special("%ctaid.y").uniform, special("%clock64").stays
    (False, True, False)
    """
    return next((row for row in _ROWS if name.startswith(row.name)), _OTHER)
