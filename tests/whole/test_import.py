"""What importing costs: nothing but NumPy, and not even that before it is used."""

import inspect
import pickle
import subprocess
import sys

import pytest

HEAVY = ("numba", "matplotlib", "hypothesis", "ml_dtypes", "pytest", "cuda_kernels", "llvmlite")


EVERY_COMMAND = ("from importlib import import_module; from simlayout.cli.commands import COMMANDS; "
                 "[import_module('simlayout.cli.' + home.partition(':')[0]) for home, _ in COMMANDS.values()]")
"""Imports the modules of all commands."""


def loaded(statements):
    """The modules that a fresh Python has after some statements."""
    code = f"{statements}\nimport sys; print(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_importing_simlayout_loads_only_what_brings_its_names():
    found = loaded("import simlayout")
    assert not found & {*HEAVY, "numpy"} and {name for name in found if name.startswith("simlayout")} == {
        "simlayout", "simlayout.lazy"}


@pytest.mark.parametrize("statements", [
    "import simlayout as sl; [getattr(sl, name) for name in sl.__all__ if name != 'plots']",
    "import simlayout as sl; sl.analyze('ld.shared.b32', [[4 * lane for lane in range(32)]] * 100_000).explain()",
    "import simlayout as sl; sl.verify(sl.Layout((8, 8), (8, 1)))",
    EVERY_COMMAND,
], ids=("every name", "analyze", "verify", "command line"))
def test_the_plain_install_needs_numpy_alone(statements):
    found = loaded(statements)
    assert "numpy" in found and not found & set(HEAVY)


def test_the_command_line_does_not_load_the_machine_before_it_runs_a_kernel():
    assert not [name for name in loaded(EVERY_COMMAND) if name.startswith("simlayout.machine")]


def test_a_command_loads_nothing_of_the_other_commands_and_the_list_of_commands_not_even_numpy():
    listed = loaded("from simlayout.cli import main; assert main(['--help']) == 0")
    one = loaded("from simlayout.cli import main; assert main(['check', '--help']) == 0")
    assert "numpy" not in listed and "simlayout.cli.layouts" in one
    others = {f"simlayout.cli.{name}" for name in ("explore", "gemm", "lesson", "ncu", "plot", "run", "search")}
    assert not one & {*others, "simlayout.plots", "simlayout.lessons"}


def test_every_public_name_is_there_and_no_other():
    import simlayout

    assert set(simlayout.__all__) == {name for name in dir(simlayout) if not name.startswith("_")}    # nor what is loaded
    assert all(getattr(simlayout, name) is not None for name in simlayout.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = simlayout.nonsense


def test_the_room_that_has_the_name_of_a_function_is_imported_under_any_name():
    import cuda_kernels
    import cuda_kernels.matmul.matmul as matmul
    import cuda_kernels.matmul.tune.kept as kept

    assert kept is sys.modules["cuda_kernels.matmul.tune.kept"] and cuda_kernels.matmul is matmul.matmul
    assert inspect.isfunction(cuda_kernels.matmul) and pickle.loads(pickle.dumps(cuda_kernels.matmul)) is matmul.matmul


def test_a_name_is_the_one_of_its_module():
    import simlayout
    from simlayout import algebra, hardware, synthesis

    assert simlayout.Layout is algebra.Layout and simlayout.analyze is hardware.analyze
    assert simlayout.search is synthesis.search and simlayout.hardware is hardware
