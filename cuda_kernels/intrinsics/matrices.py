"""ldmatrix and stmatrix of 8 x 8 matrices of b16, each of their forms, made from its name (PTX ISA: ldmatrix, stmatrix)."""

from functools import lru_cache

from cuda_kernels.intrinsics.instruction import Instruction, listed, taking
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
    count = _count(name)

    def twin(warp, address):
        from simlayout.machine.engine.matrices import load_matrices

        registers = load_matrices(warp, name, address)
        return registers if count > 1 else registers[0]

    return _made(name, f"{listed(0, count)}, [${count}]", ("b32",) * count, ("u32",), twin)


def _stmatrix(name):
    """The instruction of a name such as "stmatrix.x2.trans": it stores what `ldmatrix_sync` loads. After a shared byte
    address per lane it takes a register per matrix (sm_90).

    >>> _stmatrix("stmatrix.x2").text
    'stmatrix.sync.aligned.m8n8.x2.shared.b16 [$0], {$1, $2};'
    """
    count = _count(name)

    def store(warp, address, *registers):
        from simlayout.machine.engine.matrices import store_matrices

        store_matrices(warp, name, address, registers)

    names = ["address", *(f"v{i}" for i in range(count))]
    return _made(name, f"[$0], {listed(1, count)}", (), ("u32", *("b32",) * count), taking(names, store))


def _count(name):
    """The matrices of an instruction."""
    return int(name.split(".")[1][1])


def _made(name, operands, results, given, twin):
    opcode, _, form = name.partition(".")
    text = f"{opcode}.sync.aligned.m8n8.{form}.shared.b16 {operands};"
    line, how = ("column", ", transposed") if name.endswith(".trans") else ("row", "")
    return Instruction(name.replace(".", "_"), text, results, given, twin, converged=True,
                       doc=f"{_count(name)} 8x8 matrices of b16{how}: lane 8m + r gives the address of {line} r of matrix "
                           f"m, 16-byte aligned (PTX ISA: {opcode}).")


ldmatrix_x1, ldmatrix_x2, ldmatrix_x4 = (ldmatrix_sync(f"ldmatrix.x{count}") for count in (1, 2, 4))
stmatrix_x2, stmatrix_x4 = _stmatrix("stmatrix.x2"), _stmatrix("stmatrix.x4")
stmatrix_x2_trans, stmatrix_x4_trans = _stmatrix("stmatrix.x2.trans"), _stmatrix("stmatrix.x4.trans")
