"""Every shared-memory instruction in a kernel's machine code belongs to exactly one access of its plan."""

from functools import cache
from math import prod

import numpy as np
import pytest

from cuda_kernels.bench import default_variants
from cuda_kernels.build.assembler import find_tool
from cuda_kernels.build.compile import FIRST_MARK, marks
from cuda_kernels.conformance.gemms.sass import SassInstruction, attribute, disassemble, parse, ptx_name
from cuda_kernels.run.runner import run
from simlayout.errors import VerificationError
from simlayout.kernel import Problem

VARIANTS = dict(default_variants())
PERMUTED = VARIANTS["mma_permuted, 4 stages"]
PROBLEM = 1000, 1384, 520
LISTING = """
\t.section\t.text.gemm,"ax",@progbits
gemm:
.text.gemm:
\t//## File "cuda_kernels/kernels/hgemm/hgemm.py", line 159
        /*0000*/                   LDC R1, c[0x0][0x28] ;
\t//## File "cuda_kernels/kernels/hgemm/hgemm.py", line 1000001
        /*0a80*/              @!PT LDS RZ, [RZ] ;
        /*0a90*/                   LDGSTS.E.BYPASS.LTC128B.128.ZFILL [R10], desc[UR26][R18.64], P2 ;
\t//## File "cuda_kernels/kernels/hgemm/hgemm.py", line 1
        /*0aa0*/                   ISETP.GE.U32.AND P0, PT, R208, UR13, PT ;
\t//## File "cuda_kernels/kernels/hgemm/hgemm.py", line 1000002
        /*0ca0*/              @!P6 LDGSTS.E.BYPASS.LTC128B.128.ZFILL [R3], desc[UR26][R18.64], P4 ;
.L_x_0:
\t//## File "cuda_kernels/kernels/hgemm/hgemm.py", line 1000004
        /*1a70*/                   LDSM.16.M88.2 R2, [R10+0x4000] ;
\t//## File "cuda_kernels/kernels/hgemm/hgemm.py", line 1000003
        /*1af0*/                   LDSM.16.M88.4 R132, [R9] ;
\t//## File "cuda_kernels/kernels/hgemm/hgemm.py", line 1000005
        /*3e10*/                   STS [R167], R4 ;
\t//## File "cuda_kernels/kernels/hgemm/hgemm.py", line 1000006
        /*4a30*/                   LDS.128 R4, [R3+UR6] ;
"""
"""Lines of `nvdisasm -g -c` on mma_permuted with marks (CUDA 13.4, sm_90a)."""


def test_a_listing_gives_every_instruction_its_line():
    read = parse(LISTING)
    assert len(read) == 9
    assert read[0] == SassInstruction(0, "", "LDC", 159)
    assert read[4] == SassInstruction(0xCA0, "@!P6", "LDGSTS.E.BYPASS.LTC128B.128.ZFILL", 1000002)


def test_a_load_that_never_executes_belongs_to_no_access():
    (load,) = [i for i in parse(LISTING) if i.guard == "@!PT"]
    assert not load.is_shared
    owned = attribute(parse(LISTING), PERMUTED)
    assert {name: [i.offset for i in found] for name, found in owned.items()} == {
        "copy A": [0xA90], "copy B": [0xCA0], "load A": [0x1AF0], "load B": [0x1A70], "store C": [0x3E10],
        "read C": [0x4A30]}


@pytest.mark.parametrize("opcode, name", [
    ("LDSM.16.M88", "ldmatrix.x1"), ("LDSM.16.M88.2", "ldmatrix.x2"), ("LDSM.16.MT88.4", "ldmatrix.x4.trans"),
    ("STSM.16.M88.4", "stmatrix.x4"), ("LDS", "ld.shared.b32"), ("LDS.U8", "ld.shared.b8"), ("LDS.S16", "ld.shared.b16"),
    ("LDS.64", "ld.shared.b64"), ("STS.128", "st.shared.b128"), ("LDGSTS.E", "cp.async.ca.4"),
    ("LDGSTS.E.LTC128B.64", "cp.async.ca.8"), ("LDGSTS.E.BYPASS.128", "cp.async.cg.16"), ("ATOMS.ADD", "ATOMS")])
def test_an_opcode_is_the_ptx_instruction_it_executes(opcode, name):
    assert ptx_name(opcode) == name


def test_an_instruction_without_an_access_is_refused():
    stray = SassInstruction(0x5000, "", "STS", 1)
    with pytest.raises(VerificationError, match="STS at 0x5000 belongs to no access"):
        attribute((*parse(LISTING), stray), PERMUTED)


def test_an_instruction_of_another_kind_than_its_access_is_refused():
    wider = SassInstruction(0x5000, "", "STS.64", marks(PERMUTED)["store C"])
    with pytest.raises(VerificationError, match=r"'store C' is st.shared.b32 in the plan, but STS.64 at 0x5000"):
        attribute((*parse(LISTING), wider), PERMUTED)


def test_an_access_without_an_instruction_is_refused():
    with pytest.raises(VerificationError, match="no instruction of access 'read C' is left"):
        attribute(parse(LISTING)[:-1], PERMUTED)


def test_every_access_of_every_variant_has_a_line_of_its_own():
    for kernel in VARIANTS.values():
        assert list(marks(kernel).values()) == [FIRST_MARK + i for i in range(len(kernel.plan.accesses))]


# ---- compiled --------------------------------------------------------------------------------------------------------

needs_compiler = pytest.mark.skipif(find_tool("nvdisasm") is None, reason="needs nvdisasm: pip install nvidia-cuda-nvdisasm")


@cache
def machine_code(kernel, marked):
    pytest.importorskip("numba.cuda", reason="needs numba-cuda: pip install 'simlayout[test]'")
    from cuda_kernels.build.assembler import cubin
    from cuda_kernels.build.compile import ptx

    return disassemble(cubin(ptx(kernel, marked=marked)))


def check_attribution(kernel):
    owned = attribute(machine_code(kernel, marked=True), kernel)
    generator = np.random.default_rng(0)
    a, b = (generator.standard_normal((rows, 40), np.float32).astype(np.float16) for rows in (16, 8))
    executed = run(kernel, a, b.T, device="cpu").trace.accesses
    assert {c.name: c.instruction for c in executed} == {a.name: a.instruction for a in kernel.plan.accesses}
    for access in kernel.plan.accesses:
        unrolled = prod(size for name, size in access.domain.items() if name not in ("tid", "stage"))
        found = len(owned[access.name])
        assert found % unrolled == 0 or unrolled % found == 0, access.name      # copies of the loop body, or parts of it


def check_marks_make_no_code(kernel):
    plain, marked = ([(i.offset, i.guard, i.opcode) for i in machine_code(kernel, m)] for m in (False, True))
    assert plain == marked


@needs_compiler
@pytest.mark.sweep
@pytest.mark.parametrize("label", VARIANTS)
def test_shared_memory_instructions_are_the_accesses_that_the_cpu_machine_executes_and_marks_make_no_other(label):
    kernel = VARIANTS[label].fitted(Problem(*PROBLEM))
    check_attribution(kernel)
    check_marks_make_no_code(kernel)
