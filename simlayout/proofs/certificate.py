"""The result of a proof: its claims, the domain on which they hold, and a digest of the function that they are about."""

import hashlib
from dataclasses import asdict, dataclass

import numpy as np

from simlayout.arguments import typed
from simlayout.errors import LayoutError
from simlayout.excess import WithExcess
from simlayout.hardware import arch_of
from simlayout.shown import Shown
from simlayout.wording import counted


@dataclass(frozen=True)
class Certificate(Shown, WithExcess[int]):
    """The result of `verify`: everything in `claims` was checked on every point of `domain`.

    instructions, wavefronts and ideal are totals over the domain (0 for a layout without an access); digest is the
    SHA-256 of the offsets over the domain, so two functions have the same digest exactly if they agree on it.

    >>> import simlayout as sl
    >>> proved = sl.verify(sl.Access("load", "ld.shared.b32", sl.Layout(64), domain={"tid": 64}, dtype="f32"))
    >>> proved.domain, proved.instructions, proved.cost, proved.claims[-1]
    ({'tid': 64}, 2, '2 wavefronts, ideal 2', 'conflict-free: 1 wavefront per instruction')
    """

    name: str
    claims: tuple
    domain: dict
    instruction: str = ""
    dtype: str = ""
    arch: str = ""
    instructions: int = 0
    wavefronts: int = 0
    ideal: int = 0
    digest: str = ""
    provenance: str = ""

    @property
    def cost(self) -> str:
        """The wavefronts of an access, in the word of its vendor (of several chips the first one's), and the ideal."""
        return f"{counted(self.wavefronts, arch_of(self.arch.split(',')[0]).vendor.wavefront)}, ideal {self.ideal}"

    def lines(self) -> list[str]:
        """The certificate as lines of text, for the head of an emitted function."""
        over = ", ".join(f"{v} < {n}" for v, n in self.domain.items())
        what = f"{self.instruction}, {self.dtype}, {self.arch}: " if self.instruction else ""
        lines = [f"{self.name}: {what}proved for every {over}", *(f"- {claim}" for claim in self.claims)]
        if self.instruction:
            lines.append(f"- {counted(self.instructions, 'instruction')}, {self.cost}")
        if self.provenance:
            lines.append(f"- wavefront rule: {self.provenance}")
        return [*lines, f"digest {self.digest}"]

    def __str__(self):
        return "\n".join(self.lines())

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        return {**asdict(self), "claims": list(self.claims), "excess": self.excess}


@typed()
def digest(offsets: np.ndarray) -> str:
    """SHA-256 over the shape and the int64 values of an offset table, as hex. Raises LayoutError for other numbers than
    integers.

    >>> digest([[0, 1]]) == digest(np.array([[0, 1]], np.int32))
    True
    """
    table = np.asarray(offsets)
    if table.dtype.kind not in "iu" and table.size:
        raise LayoutError(f"digest: offsets are {table.dtype}; give integers, such as offsets.astype(int)")
    result = Digest(table.shape)
    result.update(table)
    return result.text()


class Digest:
    """Computes the `digest` of a table from its parts, in order. shape: of the whole table."""

    def __init__(self, shape):
        self._hash = hashlib.sha256(repr(tuple(shape)).encode())

    def update(self, offsets):
        """Adds the next part."""
        self._hash.update(np.ascontiguousarray(offsets, dtype="<i8").reshape(-1).data)

    def text(self):
        """The digest of all parts, as hex."""
        return self._hash.hexdigest()
