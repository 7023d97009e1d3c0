"""What a configuration is wanted for: all of a product that its choice depends on."""

from dataclasses import dataclass

from simlayout.algebra.dtypes import TYPES


@dataclass(frozen=True)
class Wanted:
    """C (M, N) = A (M, K) times B (K, N), `matrices` of them, as the kernel is given it: rows of C are contiguous. grouped:
    A is one matrix, whose M rows belong to so many groups, each of which has a B of its own.

    a_major, b_major: the contiguous dimension of an operand, "K" or "MN"; types: dtypes of A and B; out: of C; scaled: as
    Hopper's option, in the order of A and B; store: "tma", or "direct" where TMA cannot store C, because it is of 32 bits,
    or because C itself, a line or a matrix of it does not start on 16 bytes; epilogue: as Hopper's option, of this C.

    >>> str(Wanted(16, 4096, 14336)), str(Wanted(16, 64, 64, 8, "K", "MN", ("e4m3", "e5m2"), "f32", "lines", "direct"))
    ('16 x 4096 x 14336 f16 NT', '8 of 16 x 64 x 64 e4m3.e5m2 NN, scaled by lines, to f32')
    >>> str(Wanted(4096, 14336, 4096, 8, grouped=True))
    '4096 x 14336 x 4096 f16 NT in 8 groups'
    """

    M: int
    N: int
    K: int
    matrices: int = 1
    a_major: str = "K"
    b_major: str = "K"
    types: tuple[str, str] = ("f16", "f16")
    out: str = "f16"
    scaled: str = ""
    store: str = "tma"
    epilogue: str = ""
    grouped: bool = False

    def __post_init__(self):
        if TYPES[self.out].bits == 32:
            object.__setattr__(self, "store", "direct")

    @property
    def majors(self) -> tuple[str, str]:
        """a_major and b_major."""
        return self.a_major, self.b_major

    @property
    def order(self) -> str:
        """BLAS's letters for A and B: N a matrix with contiguous rows, T the transpose of one."""
        return f"{'N' if self.a_major == 'K' else 'T'}{'T' if self.b_major == 'K' else 'N'}"

    def __str__(self):
        parts = [f"{self.M} x {self.N} x {self.K} {'.'.join(dict.fromkeys(self.types))} {self.order}"]
        parts[0] += f" in {self.matrices} groups" * self.grouped
        parts += [f"scaled by {self.scaled}"] * bool(self.scaled) + [f"to {self.out}"] * (self.types != (self.out, self.out))
        parts += [f"then {self.epilogue}"] * bool(self.epilogue)
        if self.store == "direct" and TYPES[self.out].bits != 32:
            parts.append("C off 16 bytes")
        return f"{self.matrices} of " * (self.matrices > 1 and not self.grouped) + ", ".join(parts)
