"""Which access a SASS instruction belongs to.

A kernel that is compiled with marks (`cuda_kernels.build.compile.marks`) has, in its line table, one line number per access:
`cuda_kernels.intrinsics.address` says how it gets there. nvdisasm prints it, `parse` reads it, `attribute` gives every
access its instructions and refuses a kernel in which a shared-memory instruction has no owner, or an owner of another kind.
"""

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cuda_kernels.build.assembler import find_tool
from cuda_kernels.build.compile import marks
from simlayout.errors import DeviceError, VerificationError
from simlayout.hardware import instruction as instruction_of
from simlayout.plan import sass_class

SHARED = ("LDSM", "STSM", "LDS", "STS", "LDGSTS", "ATOMS")
"""The SASS instructions that access shared memory by address (CUDA Binary Utilities, instruction set reference)."""

NEVER = ("@!PT", "@!UPT")
"""Guards that are always false: ptxas puts such loads before an LDGSTS, and they never execute."""


@dataclass(frozen=True)
class SassInstruction:
    """One instruction of a kernel. offset: bytes from the kernel's start; guard: its predicate, "" if it has none;
    line: its line in the line table, 0 if it has none."""

    offset: int
    guard: str
    opcode: str
    line: int

    @property
    def is_shared(self):
        """Whether it can access shared memory: of a class in SHARED, and not guarded by a constant false."""
        return self.opcode.split(".")[0] in SHARED and self.guard not in NEVER


_LINE = re.compile(r'\s*//## File ".*", line (\d+)')
_CODE = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)")


def parse(listing):
    """The text of `nvdisasm -g -c` on one kernel -> its SassInstructions, in order.

    >>> parse('//## File "k.py", line 1000001\\n  /*0010*/  @!P6 LDGSTS.E.BYPASS.128 [R11], desc[UR10][R18.64] ;')
    (SassInstruction(offset=16, guard='@!P6', opcode='LDGSTS.E.BYPASS.128', line=1000001),)
    """
    instructions, line = [], 0
    for text in listing.splitlines():
        if at := _LINE.match(text):
            line = int(at[1])
        elif at := _CODE.match(text):
            instructions.append(SassInstruction(int(at[1], 16), at[2] or "", at[3], line))
    return tuple(instructions)


def disassemble(cubin):
    """Machine code, bytes -> its SassInstructions; DeviceError without nvdisasm."""
    tool = find_tool("nvdisasm")
    if tool is None:
        raise DeviceError("nvdisasm is not installed: pip install nvidia-cuda-nvdisasm, or put a CUDA toolkit on the PATH")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(cubin)
        process = subprocess.run([tool, "-g", "-c", file], capture_output=True, text=True)
    if process.returncode:
        raise DeviceError(f"{tool} does not read this cubin: {(process.stderr or process.stdout).strip().splitlines()[-1]}")
    return parse(process.stdout)


def ptx_name(opcode):
    """The PTX instruction that a SASS opcode executes, under the name of `simlayout.hardware`; for other opcodes
    (ATOMS serves red and atom alike) their class.

    >>> [ptx_name(o) for o in ("LDSM.16.M88.4", "LDSM.16.MT88", "LDS.128", "STS", "LDGSTS.E.BYPASS.LTC128B.128.ZFILL")]
    ['ldmatrix.x4', 'ldmatrix.x1.trans', 'ld.shared.b128', 'st.shared.b32', 'cp.async.cg.16']
    """
    kind, *modifiers = opcode.split(".")
    if kind in ("LDSM", "STSM"):
        matrices = next((m for m in modifiers if m in ("2", "4")), "1")
        transposed = ".trans" if any(m.startswith("MT") for m in modifiers) else ""
        return f"{'ldmatrix' if kind == 'LDSM' else 'stmatrix'}.x{matrices}{transposed}"
    bits = next((int(m.lstrip("US")) for m in modifiers if m in ("U8", "S8", "U16", "S16", "64", "128")), 32)
    if kind in ("LDS", "STS"):
        return f"{'ld' if kind == 'LDS' else 'st'}.shared.b{bits}"
    if kind == "LDGSTS":
        return f"cp.async.{'cg' if 'BYPASS' in modifiers else 'ca'}.{bits // 8}"
    return kind


def attribute(instructions, kernel):
    """The shared-memory instructions of each access: {access name: (SassInstruction, ...)}, in the plan's order.

    instructions: of the Kernel `kernel`, compiled with marks. Raises VerificationError for a shared-memory instruction
    whose line is no access's, or that is not the access's instruction, and for an access that has none.
    """
    owner = dict(zip(marks(kernel).values(), kernel.accesses))
    owned = {access.name: [] for access in kernel.accesses}
    for i in filter(lambda i: i.is_shared, instructions):
        if i.line not in owner:
            raise VerificationError(f"{kernel.name}: {i.opcode} at {i.offset:#x} belongs to no access of the plan: give its "
                                    "address by an emitted index function")
        access = owner[i.line]
        expected = "ATOMS" if sass_class(access.instruction) == "ATOMS" else instruction_of(access.instruction).name
        if ptx_name(i.opcode) != expected:
            raise VerificationError(f"{kernel.name}: access {access.name!r} is {expected} in the plan, but {i.opcode} at "
                                    f"{i.offset:#x}: correct the plan or the kernel")
        owned[access.name].append(i)
    for name, of_access in owned.items():
        if not of_access:
            raise VerificationError(f"{kernel.name}: no instruction of access {name!r} is left in the machine code: "
                                    "make its result needed, or its load volatile")
    return {name: tuple(of_access) for name, of_access in owned.items()}
