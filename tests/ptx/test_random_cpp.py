"""Functions of C++ that nobody wrote: what nvcc makes of them gives on the machine what g++ makes of them gives."""

import numpy as np
from hypothesis import strategies as st
from nvcc import needs_nvcc, ptx_of
from random_cpp import BLOCK, THREADS, WORDS, functions, on_the_host, source
from tiers import given_few

from simlayout import ptx

OPTIONS = st.sampled_from((("-Xcicc", "-O3"), ("-Xcicc", "-O1"), ("-G",)))
HELPERS = st.sampled_from(("-DHELPER=__noinline__", "-DHELPER="))


@needs_nvcc
@given_few(1, 300, functions, OPTIONS, HELPERS)
def test_a_function_gives_on_the_machine_what_it_gives_on_the_host(tmp_path_factory, statements, options, helper):
    folder = tmp_path_factory.mktemp("cpp", numbered=True)
    words = np.arange(WORDS, dtype=np.uint32) ** 2 * np.uint32(2654435761) + np.arange(WORDS, dtype=np.uint32)
    found = np.zeros(THREADS, np.uint32)
    kernel = ptx.load(ptx_of(source(statements), folder, "-fmad=false", helper, *options))["kernel"]
    kernel.run(THREADS // BLOCK, BLOCK, words, found)
    assert found.tolist() == on_the_host(statements, words, folder).tolist()
