"""ldmatrix, each of its forms, made from its name as `simlayout.hardware.choose_ldmatrix` gives it."""

from functools import lru_cache

from cuda_kernels.intrinsics.instruction import Instruction
from simlayout.errors import InstructionError

FORMS = tuple(f"ldmatrix.x{count}{trans}" for trans in ("", ".trans") for count in (1, 2, 4))
"""ldmatrix of b16 matrices (PTX ISA: ldmatrix, .m8n8 and .b16)."""


@lru_cache(None)
def ldmatrix_sync(name):
    """The instruction of a name such as "ldmatrix.x2.trans", for kernels: call it outside of them.

    It takes a shared byte address (u32, 16-byte aligned) per lane, of which it uses lane 8m + r's for row r of matrix m,
    and returns one register per matrix: in lane l the b16 of row l // 4, columns 2 (l % 4) and + 1; of its transpose with
    .trans. Raises InstructionError for an unknown name.

    >>> ldmatrix_sync("ldmatrix.x2.trans").text
    'ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {$0, $1}, [$2];'
    """
    if name not in FORMS:
        raise InstructionError(f"{name!r} is not an ldmatrix of b16 matrices: choose one of {', '.join(FORMS)}")
    count = int(name.split(".")[1][1])
    results = ", ".join(f"${i}" for i in range(count))
    text = f"ldmatrix.sync.aligned.m8n8.{name.removeprefix('ldmatrix.')}.shared.b16 {{{results}}}, [${count}];"

    def twin(warp, address):
        from simlayout.machine.engine.matrices import load_matrices

        registers = load_matrices(warp, name, address)
        return registers if count > 1 else registers[0]

    new = Instruction(name.replace(".", "_"), text, ("b32",) * count, ("u32",), twin, converged=True)
    how = ", transposed" if name.endswith(".trans") else ""
    object.__setattr__(new, "__doc__", f"{count} 8x8 matrices of b16{how} (PTX ISA: ldmatrix).")
    return new


ldmatrix_x1, ldmatrix_x2, ldmatrix_x4 = (ldmatrix_sync(f"ldmatrix.x{count}") for count in (1, 2, 4))
