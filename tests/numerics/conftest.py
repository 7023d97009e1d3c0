"""Every test of tensor-core arithmetic runs twice: by NumPy, which defines it, and compiled by Numba."""

import pytest

from simlayout.numerics import arithmetic


@pytest.fixture(scope="module", autouse=True, params=["NumPy", "Numba"])
def way(request):
    """The name of the way in which `mma`, `gemm` and `warp_mma` compute."""
    if request.param == "Numba":
        pytest.importorskip("numba", reason="needs Numba")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arithmetic, "PATIENCE", {"NumPy": float("inf"), "Numba": -1}[request.param])
        yield request.param
