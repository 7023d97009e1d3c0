"""Straight code of f64, as ptxas makes it of PTX, worked out number by number."""

import re
import subprocess
from fractions import Fraction

from machine_code import ARCH, CUOBJDUMP, PTXAS

HEAD = """.version 8.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 p)
{
.reg .f64 %d<90>; .reg .b64 %r<3>; .reg .b32 %q<3>; .reg .pred %p<3>;
ld.param.u64 %r1, [p]; cvta.to.global.u64 %r2, %r1;
"""
LOADS, STORES = 8, 8
"""Numbers that a kernel loads into %d0 to %d7, from its array; it stores behind them."""


def kernel(body, outs):
    """PTX of a kernel of an array of f64: it loads LOADS numbers and stores registers behind them."""
    loads = "".join(f"ld.global.f64 %d{i}, [%r2+{8 * i}];\n" for i in range(LOADS))
    stores = "".join(f"st.global.f64 [%r2+{8 * (LOADS + i)}], %d{out};\n" for i, out in enumerate(outs))
    return HEAD + loads + body + stores + "ret;\n}\n"


def machine_code(texts, folder):
    """The instructions that ptxas makes of each `kernel`, [["DADD R4, R2, -R6", ...], ...]: of all in one file, because a
    start of it takes much longer than such a kernel."""
    head, _, _ = HEAD.partition(".visible")
    entries = [text.removeprefix(head).replace(" k(", f" k{i}(", 1) for i, text in enumerate(texts)]
    (folder / "k.ptx").write_text(head + "".join(entries))
    subprocess.run([PTXAS, f"-arch={ARCH}", "-o", folder / "k.cubin", folder / "k.ptx"], check=True)
    listing = subprocess.run([CUOBJDUMP, "-sass", folder / "k.cubin"], capture_output=True, text=True, check=True).stdout
    parts = re.split(r"^\s*Function : k(\d+)", listing, flags=re.M)
    found = {int(number): part for number, part in zip(parts[1::2], parts[2::2], strict=True)}
    return [[line.strip() for line in re.findall(r"/\*[0-9a-f]{4,}\*/\s+([^;]*);", found[i])] for i in range(len(texts))]


def stored(lines, numbers):
    """{place: number} that straight code stores, from the numbers that it loads."""
    registers, made = {"RZ": 0.0}, {}
    for line in lines:
        opcode, _, rest = line.partition(" ")
        operands = [part.strip().replace(".reuse", "") for part in rest.split(",")]
        at = int((re.search(r"\+(0x[0-9a-f]+)\]", rest) or ["", "0"])[1], 16) // 8
        if opcode.startswith("LDG"):
            registers[operands[0]] = numbers[at]
        elif opcode.startswith("STG"):
            made[at] = registers[operands[1]]
        elif opcode[0] == "D":
            registers[operands[0]] = _MADE[opcode](*[_value(operand, registers) for operand in operands[1:]])
    return made


def _value(operand, registers):
    value = registers[operand.strip("-|")]
    return -value if operand.startswith("-") else value


def _fma(a, b, c):
    return float(Fraction(a) * Fraction(b) + Fraction(c))


_MADE = {"DMUL": float.__mul__, "DADD": float.__add__, "DFMA": _fma}
