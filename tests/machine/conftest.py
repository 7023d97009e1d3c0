"""What tests of the machine share: a folder for kernels that are written as they are drawn."""

import pytest


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of a test file. It outlives the examples of a property test, which a folder of one test may not."""
    return tmp_path_factory.mktemp("kernels")
