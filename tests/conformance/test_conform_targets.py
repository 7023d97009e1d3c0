"""`simlayout conform` on GPUs that nobody here has: its probes are instructions that these have too."""

import re
import subprocess

import pytest
from machine_code import PTXAS, needs_tools
from tiers import sweep_but

from cuda_kernels.build.compile import bound_kernel, text_of
from cuda_kernels.conformance.forms import form
from cuda_kernels.conformance.probe import SIGNATURE, make_probe
from simlayout.hardware.tables.arch import LANES


@needs_tools
@pytest.mark.parametrize("target", sweep_but(["sm_100"], ["sm_100", "sm_103", "sm_110", "sm_120", "sm_121"]))
@pytest.mark.parametrize("name", ["ld.shared.b64", "st.shared.b128", "ldmatrix.x4.trans", "stmatrix.x4", "cp.async.cg.16",
                                  "atom.shared.add.f32"])
def test_the_probes_assemble_for_blackwell(name, target, tmp_path):
    text = text_of(bound_kernel(make_probe(form(name))), SIGNATURE, (LANES, 1), target)
    source = tmp_path / "probe.ptx"
    source.write_text(re.sub(r"^\.version .*$", ".version 9.0", text, flags=re.M))       # the first with sm_110
    made = subprocess.run([PTXAS, f"-arch={target}", "-o", tmp_path / "probe.cubin", source], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
