"""PTX assembled by ptxas, and its opcodes as cuobjdump lists them."""

import re
import subprocess
from collections import Counter

import pytest
from ptx_texts import module

from cuda_kernels.build.assembler import find_tool

pytest.importorskip("numba.cuda", reason="needs numba-cuda: pip install 'simlayout[test]'")

ARCH = "sm_90a"

PTXAS, CUOBJDUMP = find_tool("ptxas"), find_tool("cuobjdump")

needs_tools = pytest.mark.skipif(
    not (PTXAS and CUOBJDUMP),
    reason="needs ptxas and cuobjdump: pip install nvidia-cuda-nvcc nvidia-cuda-cuobjdump, or a CUDA toolkit on the PATH")


def _assembled(text, folder):
    """(what ptxas says, cuobjdump's listing) of a PTX text."""
    source, binary = folder / "kernel.ptx", folder / "kernel.cubin"
    source.write_text(text)
    made = subprocess.run([PTXAS, "-v", f"-arch={ARCH}", "-o", binary, source], capture_output=True, text=True)
    said = made.stdout + made.stderr
    if "Unsupported .version" in said:
        pytest.skip(f"{PTXAS} is older than numba-cuda's PTX: {said.splitlines()[0]}")
    assert made.returncode == 0, said
    return said, subprocess.run([CUOBJDUMP, "-sass", binary], capture_output=True, text=True, check=True).stdout


def _opcodes(listing, mark=""):
    """mark: what stands ahead of the opcode of one under a guard."""
    lines = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(@!?U?P\w+ )?([A-Z][\w.]*)", listing)
    return [mark * bool(guard) + opcode for guard, opcode in lines if guard.strip() not in ("@!PT", "@!UPT")]


def assembled(text, folder):
    """(what ptxas says, SASS opcodes as a Counter) of a PTX text, without instructions that never execute."""
    said, listing = _assembled(text, folder)
    return said, Counter(_opcodes(listing))


def assert_in_registers(said):
    """ptxas has kept all values in registers, and lets no wgmma wait for another, of which it warns (C7510, C7511)."""
    assert "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in said, said
    assert "C751" not in said and "serialized" not in said, said


def assembled_each(bodies, folder):
    """{body: its SASS opcodes as a Counter}, as `listed_each` has them."""
    return {body: Counter(opcodes) for body, opcodes in listed_each(bodies, folder).items()}


def debugged(text):
    """A module as nvcc -G makes it, of which ptxas makes nothing better."""
    return text.replace("sm_90a", "sm_90a, debug", 1) + "\n.section .debug_info { .b32 0 }\n"


def listed_each(bodies, folder, of=lambda text: text, mark=""):
    """{body: its SASS opcodes in their order} of bodies of kernels of (u64, u32), as of `ptx_texts.module`, which
    ptxas assembles in one file, because a start of it takes much longer than such a kernel. of: what becomes of that; mark:
    what stands ahead of opcodes under a guard."""
    texts = [module(body, ["u64", "u32"], f"k{i}") for i, body in enumerate(bodies)]
    head = texts[0].index(".visible")
    _, listing = _assembled(of(texts[0] + "".join(text[head:] for text in texts[1:])), folder)
    parts = re.split(r"^\s*Function : (\w+)", listing, flags=re.M)
    found = {name: _opcodes(part, mark) for name, part in zip(parts[1::2], parts[2::2])}
    return {body: found[f"k{i}"] for i, body in enumerate(bodies)}


def of_class(opcodes, name):
    """How many opcodes belong to a class: "LDSM" counts LDSM.16.M88.4 and the like."""
    return sum(n for opcode, n in opcodes.items() if opcode.split(".")[0] == name)
