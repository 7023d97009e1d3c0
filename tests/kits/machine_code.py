"""PTX assembled by ptxas, and its opcodes as cuobjdump lists them."""

import re
import subprocess
from collections import Counter

import pytest

from cuda_kernels.build.assembler import find_tool

pytest.importorskip("numba.cuda", reason="needs numba-cuda: pip install 'simlayout[test]'")

ARCH = "sm_90a"

PTXAS, CUOBJDUMP = find_tool("ptxas"), find_tool("cuobjdump")

needs_tools = pytest.mark.skipif(
    not (PTXAS and CUOBJDUMP),
    reason="needs ptxas and cuobjdump: pip install nvidia-cuda-nvcc nvidia-cuda-cuobjdump, or a CUDA toolkit on the PATH")


def assembled(text, folder):
    """(what ptxas says, SASS opcodes as a Counter) of a PTX text, without instructions that never execute."""
    source, binary = folder / "kernel.ptx", folder / "kernel.cubin"
    source.write_text(text)
    made = subprocess.run([PTXAS, "-v", f"-arch={ARCH}", "-o", binary, source], capture_output=True, text=True)
    said = made.stdout + made.stderr
    if "Unsupported .version" in said:
        pytest.skip(f"{PTXAS} is older than numba-cuda's PTX: {said.splitlines()[0]}")
    assert made.returncode == 0, said
    listing = subprocess.run([CUOBJDUMP, "-sass", binary], capture_output=True, text=True, check=True).stdout
    lines = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(@!?U?P\w+ )?([A-Z][\w.]*)", listing)
    return said, Counter(opcode for guard, opcode in lines if guard.strip() not in ("@!PT", "@!UPT"))


def of_class(opcodes, name):
    """How many opcodes belong to a class: "LDSM" counts LDSM.16.M88.4 and the like."""
    return sum(n for opcode, n in opcodes.items() if opcode.split(".")[0] == name)
