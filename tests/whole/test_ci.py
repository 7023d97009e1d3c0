""".ci/run fails where any of its steps does, also those that run meanwhile: with programs that do nothing in their place."""

import shutil
import subprocess
import sys

import pytest
from places import ROOT

STEPS = ("-e .[cuda]", "simlayout gemm --cpu", "simlayout run", "-e .[test]", "ruff check", "mypy", "pytest -m")
"""Words of each step."""

PROGRAM = '''#!/bin/sh
echo "$(basename "$0") $*" >> "$STEPS_DONE"
case "$*" in "-m simlayout"*) sleep 0.05;; esac
case "$(basename "$0") $*" in *"$FAILING"*) exit 3;; esac
'''

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="CI runs on Linux")


@pytest.fixture(params=["a browser", "none"])
def ci(tmp_path, request):
    """Runs .ci/run where a step fails, or none does for "-": (exit code, what was called). A browser that is there already
    is not installed; where there is none, apt-get brings none."""
    for name in ("python3", "python", "pip", "ruff", "mypy", "pytest", "apt-get", "id"):
        (tmp_path / name).write_text(PROGRAM)
    (tmp_path / "id").write_text("#!/bin/sh\necho 0\n")
    if request.param == "a browser":
        (tmp_path / "chromedriver").write_text(PROGRAM)
    for name in ("basename", "bash", "dirname", "mktemp", "rm", "sh", "sleep"):
        (tmp_path / name).symlink_to(shutil.which(name))
    for program in tmp_path.iterdir():
        program.chmod(0o755)

    def run(failing):
        log = tmp_path / "log"
        done = subprocess.run([ROOT / ".ci" / "run"], capture_output=True, text=True, timeout=60,
                              env={"PATH": str(tmp_path), "FAILING": failing, "STEPS_DONE": str(log)})
        return done.returncode, log.read_text()

    return run


@pytest.mark.parametrize("step", STEPS)
def test_ci_fails_where_a_step_fails(ci, step):
    code, called = ci(step)
    assert code != 0 and step in called


def test_ci_succeeds_where_every_step_does(ci):
    code, called = ci("no such step")
    assert code == 0 and all(step in called for step in STEPS)
