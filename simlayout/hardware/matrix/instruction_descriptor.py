"""The 32-bit instruction descriptor of tcgen05.mma: types, shape, orders, scale factors (PTX ISA, tcgen05: Instruction
Descriptor; CUTLASS, UMMA::InstrDescriptor and InstrDescriptorBlockScaled)."""

from collections.abc import Iterator
from dataclasses import dataclass

from simlayout.arguments import typed
from simlayout.errors import InstructionError, require_ints
from simlayout.hardware.tables.operand_readers import READERS, Bits
from simlayout.hardware.tables.provenance import Provenance
from simlayout.hardware.tables.tcgen05 import KINDS, Kind, kind_of, shapes_of
from simlayout.shown import Shown

SOURCE = Provenance("documented", "PTX ISA, tcgen05: Instruction descriptor; equal to CUTLASS's UMMA::InstrDescriptor and "
                    "InstrDescriptorBlockScaled")

COMMON = {"selector": Bits(0, 2), "sparse": Bits(2, 1), "a": Bits(7, 3), "b": Bits(10, 3), "negate_a": Bits(13, 1),
          "negate_b": Bits(14, 1), "a_major": Bits(15, 1), "b_major": Bits(16, 1), "n": Bits(17, 6), "m": Bits(24, 5)}
DENSE = COMMON | {"saturate": Bits(3, 1), "d": Bits(4, 2), "max_shift": Bits(30, 2)}
SCALED = COMMON | {"scale_b_id": Bits(4, 2), "scale": Bits(23, 1), "scale_a_id": Bits(29, 2), "k96": Bits(31, 1)}
"""Name -> bits, of the kinds without scale factors and of those with them. Other bits are 0."""

SCALE_IDS = {1: (0, 1, 2, 3), 2: (0, 2), 4: (0,), 3: (0, 1, 2, 3), 6: (0, 2)}
"""How many scale factors of a row an instruction takes -> the bytes of a TMEM column at which they may begin (PTX ISA,
tcgen05: Scale Factor A ID and B ID). Three begin at any byte, six at an even one, because four to a column make 96 of K
begin everywhere."""

NO_SELECTOR = "i8", "f8f6f4"
"""Kinds whose sparsity selector must be 0 (PTX ISA, tcgen05: Sparsity selector)."""

EIGHT_BITS, EIGHT_BITS_N = ("e4m3", "e5m2", "s8", "u8"), 16
"""Types of B that want N a multiple of 16 where B is MN-major (PTX ISA, tcgen05: Transpose and Negate operations); of 2 CTAs
a multiple of 32, which the descriptor does not say."""

M_UNIT, N_UNIT, MAJORS, SHIFTS = 16, 8, ("K", "MN"), (0, 8, 16, 32)

WORDS = {
    "selector": "which of the sparse selectors", "sparse": "A is sparse", "saturate": "integers are clamped",
    "d": "type of D", "a": "type of A", "b": "type of B", "negate_a": "A is negated", "negate_b": "B is negated",
    "a_major": "order of A", "b_major": "order of B", "n": "N", "m": "M", "max_shift": "most that B is shifted (.ws)",
    "scale": "type of the scale factors", "scale_a_id": "first byte of A's scale factors",
    "scale_b_id": "first byte of B's scale factors", "k96": "96 elements of K (sm_103)",
}


@typed(InstructionError)
@dataclass(frozen=True)
class InstructionDescriptor(Shown):
    """What tcgen05.mma multiplies. kind: as in KINDS. a, b, d: element types. m, n: of D. a_major, b_major: "K" or "MN".
    selector: of sparse metadata. max_shift: 0, 8, 16 or 32 columns. scale: type of the scale factors, None without any;
    scale_a_id, scale_b_id: the byte of their TMEM columns at which they begin (bits 30-31 of the scales' addresses).

    Raises InstructionError for what the kind does not have.

    >>> hex(InstructionDescriptor("f16", "bf16", "bf16", "f32", 64, 256).encode())
    '0x4400490'
    >>> found = InstructionDescriptor.decode(0x08B00000, "mxf8f6f4")
    >>> found.a, found.m, found.n, found.scale
    ('e4m3', 128, 192, 'ue8m0')
    """

    kind: str
    a: str
    b: str
    d: str
    m: int
    n: int
    a_major: str = "K"
    b_major: str = "K"
    negate_a: bool = False
    negate_b: bool = False
    sparse: bool = False
    selector: int = 0
    saturate: bool = False
    max_shift: int = 0
    scale: str | None = None
    scale_a_id: int = 0
    scale_b_id: int = 0
    k96: bool = False

    def __post_init__(self):
        numbers = {name: getattr(self, name) for name in ("m", "n", "selector", "max_shift", "scale_a_id", "scale_b_id")}
        require_ints(InstructionError, f"tcgen05.mma.kind::{self.row.name}", **numbers)
        if faults := _faults(self):
            raise InstructionError(f"tcgen05.mma.kind::{self.row.name}: {'; '.join(faults)}")

    def told(self) -> Iterator[tuple[str, str]]:
        """(label, text) of each line that tells it."""
        scaled = f", scale factors {self.scale}" if self.scale else ""
        shape = f"D {self.m} x {self.n} of {self.d} = A of {self.a} x B of {self.b}, K {self.k}{scaled}"
        yield f"kind::{self.kind}", shape
        for name, at in sorted(fields_of(self.row).items(), key=lambda item: item[1].low):
            value = getattr(self, name)
            shown = ("yes" if value else "no") if isinstance(value, bool) else value
            yield f"  {name}", f"{shown!s:<6} {WORDS[name]} ({at})"

    def __str__(self):
        return "\n".join(f"{label:<15} {text}" for label, text in self.told())

    @property
    def row(self) -> Kind:
        """What the table says of its kind."""
        return kind_of(self.kind)

    @property
    def k(self) -> int:
        """Elements along K of the instruction."""
        return self.row.k_of(self.form)

    @property
    def form(self) -> str:
        """Which of FORMS it is."""
        return "k96" if self.k96 else "sparse" if self.sparse else "dense"

    def encode(self) -> int:
        """The 32 bits."""
        row = self.row
        numbers = {**vars(self), "a": dict(row.formats)[self.a], "b": dict(row.formats)[self.b], "n": self.n // N_UNIT,
                   "m": self.m // M_UNIT, "d": dict(row.results)[self.d], "scale": dict(row.scales).get(self.scale, 0),
                   "max_shift": SHIFTS.index(self.max_shift), "a_major": MAJORS.index(self.a_major),
                   "b_major": MAJORS.index(self.b_major)}
        return sum(bits.put(int(numbers[name])) for name, bits in fields_of(row).items())

    @classmethod
    @typed(InstructionError)
    def decode(cls, bits: int, kind: str) -> "InstructionDescriptor":
        """The InstructionDescriptor of 32 bits for a kind. Raises InstructionError for bits that are none of its."""
        row = kind_of(kind)
        require_ints(InstructionError, f"instruction descriptor of kind::{row.name}", bits=bits)
        fields = fields_of(row)
        if not 0 <= bits < 1 << 32 or bits & ~sum(f.mask for f in fields.values()):
            extra = bits & ~sum(f.mask for f in fields.values())
            raise InstructionError(f"no instruction descriptor of kind::{row.name}: "
                                   + (f"reserved bits {extra:#x} are set" if 0 <= bits < 1 << 32 else "not 32 bits"))
        found = {name: field.of(bits) for name, field in fields.items()}
        named = {number: name for name, number in row.formats}
        for letter in "ab":
            if found[letter] not in named:
                raise InstructionError(f"no instruction descriptor of kind::{row.name}: {found[letter]} is no type of "
                                       f"{letter.upper()}; it has {_numbered(row.formats)}")
        results, scales = ({number: name for name, number in rows} for rows in (row.results, row.scales))
        d = row.results[0][0] if row.scaled else results.get(found["d"])
        if d is None or row.scaled and found["scale"] not in scales:
            raise InstructionError(f"no instruction descriptor of kind::{row.name}: it has "
                                   f"{_numbered(row.scales if row.scaled else row.results)}")

        def flag(name):
            return bool(found.get(name, 0))

        return cls(row.name, named[found["a"]], named[found["b"]], d, found["m"] * M_UNIT, found["n"] * N_UNIT,
                   MAJORS[found["a_major"]], MAJORS[found["b_major"]], flag("negate_a"), flag("negate_b"), flag("sparse"),
                   found["selector"], flag("saturate"), SHIFTS[found.get("max_shift", 0)],
                   scales.get(found.get("scale", -1)), found.get("scale_a_id", 0), found.get("scale_b_id", 0), flag("k96"))


def fields_of(kind: Kind) -> dict[str, Bits]:
    """Name -> bits of the descriptors of a kind."""
    return SCALED if kind.scaled else DENSE


@typed(InstructionError)
def instruction_descriptors(bits: int) -> list[InstructionDescriptor]:
    """What 32 bits mean for each kind for which they are legal: the bits do not say which kind it is, the opcode does.

    >>> [(d.kind, d.a, d.m, d.n) for d in instruction_descriptors(0x08400010)]
    [('f16', 'f16', 128, 256), ('f8f6f4', 'e4m3', 128, 256)]
    """
    require_ints(InstructionError, "instruction descriptor", bits=bits)
    found = []
    for kind in KINDS:
        try:
            found.append(InstructionDescriptor.decode(bits, kind))
        except InstructionError:
            continue
    return found


def _faults(self):
    """What a kind does not have of an InstructionDescriptor, a few words each."""
    row, faults = self.row, []
    for letter, element, major in (("A", self.a, self.a_major), ("B", self.b, self.b_major)):
        if element not in dict(row.formats):
            faults.append(f"no {letter} of {element}; it has {_numbered(row.formats)}")
        elif major not in MAJORS or major == "MN" and "MN" not in READERS["tcgen05"].majors(element):
            faults.append(f"no {major}-major {letter} of {element}")
    if self.d not in dict(row.results):
        faults.append(f"no D of {self.d}; it has {_numbered(row.results)}")
    elif (row.name, self.d) == ("f16", "f16") and (self.a, self.b) != ("f16", "f16"):
        faults.append(f"no D of f16 for A of {self.a} and B of {self.b}")
    if self.scale not in dict(row.scales) and (row.scaled or self.scale is not None):
        faults.append(f"no scale factors of {self.scale}; it has {_numbered(row.scales) or 'none'}")
    if self.k96 and (not row.vectors_96 or self.sparse):
        faults.append("96 elements of K are for dense kind::mxf4 and mxf4nvf4")
    elif not any(self.m in ms and self.n in ns for _, _, ms, ns in shapes_of(row.name, self.form)):
        faults.append(f"no M {self.m} with N {self.n}")
    if self.b_major == "MN" and self.b in EIGHT_BITS and self.n % EIGHT_BITS_N:
        faults.append(f"no N {self.n} for MN-major B of {self.b}: a multiple of {EIGHT_BITS_N}")
    if self.saturate and row.name != "i8":
        faults.append("only kind::i8 saturates")
    if (self.negate_a or self.negate_b) and row.name == "i8":
        faults.append("integers are not negated")
    if self.max_shift not in SHIFTS or self.max_shift and row.scaled:
        faults.append(f"no shift of {self.max_shift}")
    faults += _of_selector(self, row)
    if not (0 <= self.scale_a_id < 4 and 0 <= self.scale_b_id < 4):
        faults.append("scale factor ids are 0 to 3")
    elif self.scale_a_id or self.scale_b_id:
        faults += _of_ids(self, row)
    return faults


def _of_selector(self, row):
    """What a sparsity selector cannot be."""
    if not 0 <= self.selector < 4:
        return [f"no selector {self.selector}"]
    if self.selector and not self.sparse:
        return [f"selector {self.selector} without sparsity"]
    return [f"no selector {self.selector}: it must be 0"] if self.selector and row.name in NO_SELECTOR else []


def _of_ids(self, row):
    """What keeps ids from being those of any number of scale factors that an instruction can take. ue4m3 is for 16 elements
    each."""
    counts = [count for vector, count in row.vectors_of(self.form) if self.scale != "ue4m3" or vector == 16]
    allowed = sorted({i for count in counts for i in SCALE_IDS[count]})
    wrong = [i for i in (self.scale_a_id, self.scale_b_id) if i not in allowed]
    if not wrong:
        return []
    taken, starts = (" or ".join(map(str, numbers)) for numbers in (counts, allowed))
    return [f"scale factor id {wrong[0]}, where an instruction takes {taken} from byte {starts} on" if counts else
            f"scale factor id {wrong[0]}, where it has no scale factors"]


def _numbered(rows):
    return ", ".join(f"{name} ({number})" for name, number in rows)
