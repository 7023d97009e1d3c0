"""Entries by their names in C++: templates and namespaces, read from the mangled names that nvcc gives them."""

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ptx_texts import WRITE, module

import simlayout as sl
from simlayout.errors import MachineError
from simlayout.machine.ptx.cxx_names import cxx_name, same_name

NAMES = {
    "_Z6rowsumIdLi32EEvPKT_PS0_": "rowsum<double, 32>", "_Z6rowsumIdLi33EEvPKT_PS0_": "rowsum<double, 33>",
    "_Z9transposePKfPfi": "transpose", "_ZN4mine4foldILb1EPKfEEvi": "mine::fold<true, float const*>",
    "_ZN7cutlass6KernelI4GemmILi3EEEEvNT_6ParamsE": "cutlass::Kernel<Gemm<3> >", "_Z1fIJifEEvDpT_": "f<int, float>",
    "_Z1gIL4Mode2EEvv": "g<(Mode)2>", "_Z1hILin5EEvv": "h<-5>", "_Z3addI6__halfEvT_": "add<__half>",
    "_ZN12_GLOBAL__N_11kEv": "(anonymous namespace)::k", "_Z1fISt5arrayIfLm3EEEvT_": "f<std::array<float, 3ul> >",
}
"""Mangled name -> what c++filt calls it, without its parameters."""


def as_ours(text):
    """A name of c++filt as C++ is written by people: const before its type, no suffixes of literals."""
    return text.replace("float const*", "const float*").replace("3ul", "3").replace("> >", ">>")


@pytest.mark.parametrize("mangled, name", NAMES.items())
def test_a_name_is_read_as_cxxfilt_reads_it(mangled, name):
    assert cxx_name(mangled) == as_ours(name)
    if shutil.which("c++filt"):
        told = subprocess.run(["c++filt", mangled], capture_output=True, text=True, check=True).stdout.strip()
        assert told.removeprefix("void ").startswith(name)


@given(st.text("_ZNISEKPLJTt0123456789abdefgi", max_size=40), st.integers(2, 30))
def test_what_is_no_name_or_is_cut_off_stays_as_it_is_or_is_read_in_part(text, cut):
    for mangled in f"_Z{text}", max(NAMES, key=len)[:cut]:
        assert cxx_name(mangled)


@pytest.mark.parametrize("mangled", [
    "_ZN2at6nativeINS0_11FillFunctorIfEEEEvv", "_Z1f" + "I1f" * 5000, "x", "", "_Z", "_Z9", "_ZN", "_ZNE", "_Z0", "_Z1fI",
    "_Z1fILi", "_Z1fILd3ff0000000000000EEvv"])
def test_what_is_not_known_stays_as_it_is(mangled):
    assert cxx_name(mangled) == mangled


def test_an_entry_is_found_by_its_name_in_cxx_and_listed_by_it():
    first, second = "_ZN4mine6rowsumIdLi32EEEvPKT_PS1_", "_ZN4mine6rowsumIdLi33EEEvPKT_PS1_"
    text = module(WRITE, ["u64"], first) + module(WRITE, ["u64"], second).split("64\n", 1)[1]
    loaded = sl.ptx.load(text)
    for name in ("mine::rowsum<double, 33>", "rowsum<double,33>", " rowsum< double , 33 >", "Li33E"):
        assert loaded[name] is loaded.entries[second]
    with pytest.raises(MachineError, match=r"no entry 'rowsum<float, 33>' in <text>; it has mine::rowsum<double, 32>, m"):
        loaded["rowsum<float, 33>"]
    with pytest.raises(MachineError, match=r"'rowsum' is a part of 2 entries' names: .* mine::rowsum<double, 32>, mine::"):
        loaded["rowsum"]
    assert not same_name("mine::rowsum<double, 33>", "sum<double, 33>")
