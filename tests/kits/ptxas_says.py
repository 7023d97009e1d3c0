"""Which instructions ptxas takes, many in one file."""

import re
import subprocess

import pytest
from lane_twin import width

from cuda_kernels.build.assembler import find_tool

PTXAS = find_tool("ptxas")

needs_ptxas = pytest.mark.skipif(not PTXAS, reason="needs ptxas: pip install nvidia-cuda-nvcc, or a CUDA toolkit")

HEADER = (".version {version}\n.target {arch}\n.address_size 64\n.visible .entry k() {{\n"
          ".reg .b8 c<9>; .reg .b16 h<9>; .reg .b32 r<9>; .reg .b64 d<9>; .reg .pred p<9>;\n")
LETTERS = {1: "p", 8: "c", 16: "h", 32: "r", 64: "d"}


def spelled_out(opcode, modifiers, results, sources):
    """A line of PTX with registers of those types; bytes are in registers of 16 bits, but beside bf16, where ptxas wants
    registers of 8."""
    least = 8 if opcode == "cvt" and "bf16" in modifiers else 16

    def register(name, i):
        return f"{LETTERS[max(width(name), least) if name != 'pred' else 1]}{i}"

    written = [register(name, i) for i, name in enumerate(results) if name != "cc"]
    pair = "|" if opcode in ("setp", "lop3") else ", "
    read = ["128" if opcode == "lop3" and i == 3 else register(name, i + 2)
            for i, name in enumerate(sources) if name != "cc"]
    return f"{'.'.join((opcode, *modifiers))} {', '.join([pair.join(written), *read])};"


def complaints(lines, folder, arch="sm_90a", version="8.6"):
    """What ptxas says against each of the lines, None where nothing."""
    head = HEADER.format(version=version, arch=arch)
    first = head.count("\n") + 1
    source = folder / "lines.ptx"
    source.write_text(head + "\n".join(lines) + "\nret;\n}\n")
    command = [PTXAS, f"-arch={arch}", "-O0", "-o", folder / "lines.cubin", source]
    made = subprocess.run(command, capture_output=True, text=True)
    if "Unsupported .version" in made.stderr:
        pytest.skip(f"{PTXAS} is too old: {made.stderr.splitlines()[0]}")
    said = {}
    for line, text in re.findall(r"line (\d+); error\s*: (.*)", made.stderr):
        said.setdefault(int(line) - first, text)
    assert not any(i < 0 for i in said), made.stderr[:500]
    return [said.get(i) for i in range(len(lines))]
