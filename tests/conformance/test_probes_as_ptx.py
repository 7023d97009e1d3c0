"""The probes of `simlayout conform` as PTX and as machine code: one for every form of an instruction."""

from importlib.util import find_spec

import pytest
from tiers import sweep_but

from cuda_kernels.conformance import clocks, forms, probe
from cuda_kernels.conformance.forms import FORMS
from simlayout.errors import SimlayoutError
from simlayout.hardware import INSTRUCTIONS

needs_numba = pytest.mark.skipif(find_spec("numba") is None, reason="needs numba-cuda: pip install 'simlayout[test]'")


def compiled(kernel, types):
    """The PTX of a kernel."""
    from numba import cuda

    from cuda_kernels.build.compile import bound_kernel, signature

    text, _ = cuda.compile_ptx(bound_kernel(kernel), signature(types), cc=(9, 0, "a"))
    return text


OPCODES = {"load": ("LDS", "LD"), "store": ("STS", "ST"), "ldmatrix": ("LDSM",), "stmatrix": ("STSM",),
           "copy": ("LDGSTS",), "reduction": ("ATOMS", "ATOM"), "atomic": ("ATOMS", "ATOM")}
"""Kind -> what ptxas makes of it, with a shared and with a generic address."""


def prove_probe(form, folder):
    """The probe of a form is PTX that holds the form, and machine code in which its instruction is."""
    from machine_code import CUOBJDUMP, PTXAS, assembled, of_class

    text = compiled(probe.make_probe(form), probe.SIGNATURE)
    assert head(form) in text
    if PTXAS and CUOBJDUMP:
        _, opcodes = assembled(text, folder)
        assert of_class(opcodes, OPCODES[form.row.kind][form.generic]) > 0, opcodes


def head(form):
    """What the PTX of a form must hold: "ld.shared.v2.b32", "ldmatrix", "cp.async.cg"."""
    parts = form.name.replace(".src-size", "").replace(".L2::128B", "").split(".")
    return ".".join(parts[:1] if form.row.needs_whole_warp else parts[:3] if form.row.kind == "copy" else parts)


@needs_numba
@pytest.mark.parametrize("name", sweep_but(["stmatrix.x2.trans", "atom.cas.b64"], [
    "ld.shared.v4.b16", "st.v2.b64", "ldmatrix.x4", "stmatrix.x2.trans", "cp.async.cg.16.src-size", "red.shared.add.f64",
    "atom.cas.b64", "atom.shared.exch.b128"]))
def test_representative_probes_compile(name, tmp_path):
    prove_probe(FORMS[name], tmp_path)


@needs_numba
def test_the_clock_kernel_compiles():
    assert "%clock64" in compiled(clocks.make_timed(FORMS["ld.shared.b32"]), clocks.SIGNATURE)


@needs_numba
@pytest.mark.sweep
@pytest.mark.parametrize("name", sorted(FORMS))
def test_every_probe_compiles(name, tmp_path):
    prove_probe(FORMS[name], tmp_path)


def test_every_row_has_a_form_and_every_form_a_row_of_its_own_kind():
    assert {f.row.name for f in FORMS.values()} == set(INSTRUCTIONS)
    for name, form in FORMS.items():
        assert form.name == name and forms.form(name) is form and INSTRUCTIONS[form.row.name] is form.row
        assert form.generic is not any(word in name for word in ("shared", "matrix", "cp.async"))
    with pytest.raises(SimlayoutError):
        forms.form("mov.b32")
