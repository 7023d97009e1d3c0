"""Entries by their names in C++: templates and namespaces, read from the mangled names that nvcc gives them."""

import re
import shutil
import subprocess

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ptx_texts import WRITE, module

import simlayout as sl
from simlayout.errors import MachineError
from simlayout.machine.ptx.cxx.names import cxx_name, same_name, variable_name
from simlayout.machine.ptx.cxx.types import parameter_types

NAMES = {
    "_Z6rowsumIdLi32EEvPKT_PS0_": "rowsum<double, 32>", "_Z6rowsumIdLi33EEvPKT_PS0_": "rowsum<double, 33>",
    "_Z9transposePKfPfi": "transpose", "_ZN4mine4foldILb1EPKfEEvi": "mine::fold<true, float const*>",
    "_ZN7cutlass6KernelI4GemmILi3EEEEvNT_6ParamsE": "cutlass::Kernel<Gemm<3> >", "_Z1fIJifEEvDpT_": "f<int, float>",
    "_Z1gIL4Mode2EEvv": "g<(Mode)2>", "_Z1hILin5EEvv": "h<-5>", "_Z3addI6__halfEvT_": "add<__half>",
    "_ZN2at6nativeINS0_11FillFunctorIfEEEEvv": "at::native<at::native::FillFunctor<float> >",
    "_Z4gemmIN4cute5tupleIJiNS0_1CILi8EEEEEENS1_IJS3_NS2_ILi64EEEEEEEvT_T0_":
        "gemm<cute::tuple<int, cute::C<8> >, cute::tuple<cute::C<8>, cute::C<64> > >",
    "_ZN12_GLOBAL__N_11kEv": "(anonymous namespace)::k", "_Z1fISt5arrayIfLm3EEEvT_": "f<std::array<float, 3ul> >",
}
"""Mangled name -> what c++filt calls it, without its parameters."""


def as_ours(text):
    """A name of c++filt as C++ is written by people: const before its type, no suffixes of literals."""
    return re.sub("> (?=>)", ">", text.replace("float const*", "const float*").replace("3ul", "3"))


@pytest.mark.parametrize("mangled, name", NAMES.items())
def test_a_name_is_read_as_cxxfilt_reads_it(mangled, name):
    assert cxx_name(mangled) == as_ours(name)
    if shutil.which("c++filt"):
        told = subprocess.run(["c++filt", mangled], capture_output=True, text=True, check=True).stdout.strip()
        assert told.removeprefix("void ").startswith(name)
        assert same_name(cxx_name(mangled), told)
    assert same_name(cxx_name(mangled), name) and same_name(cxx_name(mangled), f"void {name}(int const*)")


@given(st.text("_ZNISEKPLJTt0123456789abdefgi", max_size=40), st.integers(2, 30))
def test_what_is_no_name_or_is_cut_off_stays_as_it_is_or_is_read_in_part(text, cut):
    for mangled in f"_Z{text}", max(NAMES, key=len)[:cut]:
        assert cxx_name(mangled)


@pytest.mark.parametrize("mangled", [
    "_Z1fIXadL_Z1gvEEEvv", "_Z1f" + "I1f" * 5000, "x", "", "_Z", "_Z9", "_ZN", "_ZNE", "_Z0", "_Z1fI",
    "_Z1fILi", "_Z1fILd3ff0000000000000EEvv", "_Z1fILd4000000000000000EEvv", "_ZN1aSa1bE", "_ZNIiEE", "_ZNStE"])
def test_what_is_not_known_stays_as_it_is(mangled):
    assert cxx_name(mangled) == mangled


@pytest.mark.parametrize("mangled", [
    "_Z" + "9" * 9999, "_Z1fS" + "1" * 9999 + "_", "_Z1fIT" + "1" * 9999 + "_E", "_Z1f" + "P" * 99999, "_Z1fI" + "J" * 99999,
    "_ZN" + "1a" * 99999 + "E", "_Z1f1AIiiE" + "".join(f"S_IS{i}_S{i}_E" for i in "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")],
    ids=lambda mangled: mangled[:9])
def test_long_numbers_deep_types_and_parts_that_double_end_at_once(mangled):
    assert cxx_name(mangled) in (mangled, "f") and parameter_types(mangled) is None
    assert variable_name(mangled)


def test_an_entry_is_found_by_its_name_in_cxx_and_listed_by_it():
    first, second = "_ZN4mine6rowsumIdLi32EEEvPKT_PS1_", "_ZN4mine6rowsumIdLi33EEEvPKT_PS1_"
    text = module(WRITE, ["u64"], first) + module(WRITE, ["u64"], second).split("64\n", 1)[1]
    loaded = sl.ptx.load(text)
    for name in ("mine::rowsum<double, 33>", "rowsum<double,33>", " rowsum< double , 33 >", "Li33E", "double,33"):
        assert loaded[name] is loaded.entries[second]
    with pytest.raises(MachineError, match=r"no entry 'rowsum<float, 33>' in <text>; it has mine::rowsum<double, 32>, m"):
        loaded["rowsum<float, 33>"]
    with pytest.raises(MachineError, match=r"'rowsum' is a part of 2 entries' names: .* mine::rowsum<double, 32>, mine::"):
        loaded["rowsum"]
    assert not same_name("mine::rowsum<double, 33>", "sum<double, 33>")


def test_of_many_entries_those_with_the_nearest_names_are_listed():
    first, *more = (module(WRITE, ["u64"], f"_Z6rowsumILi{number}EEvPi") for number in range(40))
    loaded = sl.ptx.load("".join([first, *(text.split("64\n", 1)[1] for text in more)]))
    with pytest.raises(MachineError, match=r"it has rowsum<25>, .*rowsum<\d+> and 28 more$"):
        loaded["rowsum<255>"]


TYPES = {
    "_Z3addPKfPfi": ["float const*", "float*", "int"],
    "_Z3addI6__halfEvPKT_PS1_": ["__half const*", "__half*"],
    "_Z6rowsumIdLi32EEvPKT_PS0_": ["double const*", "double*"],
    "_ZN4mine4foldIfEEvNS_4ViewIT_EEPKS3_PKPKS2_": ["mine::View<float>", "mine::View<float> const*", "float const* const*"],
    "_Z1kIbbbbbbbbbbbfEvT_T0_T1_T2_T3_T4_T5_T6_T7_T8_T9_PT10_": [*11 * ["bool"], "float*"],
    "_ZN12_GLOBAL__N_11kEPxS0_PyS1_": ["long long*", "long long*", "unsigned long long*", "unsigned long long*"],
    "_Z1kIRiiEvOT_OT0_": ["int&", "int&&"], "_Z1kIKfEvPKT_PS1_": ["float const*", "float const*"],
    "_Z1kPK13__nv_bfloat166float4St5arrayIfLm3EE": ["__nv_bfloat16 const*", "float4", "std::array<float, 3ul>"], "_Z1kv": [],
}
"""Mangled name -> what c++filt calls the types of its parameters."""


@pytest.mark.parametrize("mangled, types", TYPES.items())
def test_the_types_of_parameters_are_read_as_cxxfilt_reads_them(mangled, types):
    def west(text):
        return re.sub(r"([\w:<>]+) const\*", r"const \1*", text).replace("3ul", "3")
    assert parameter_types(mangled) == list(map(west, types))
    if shutil.which("c++filt"):
        told = subprocess.run(["c++filt", mangled], capture_output=True, text=True, check=True).stdout.strip()
        assert told.endswith(f"({', '.join(types)})")


@pytest.mark.parametrize("mangled", ["add", "_Z1fIJifEEvDpT_", "_Z1kPFvvE", "_Z1kPA4_f", "_Z1kS7_", "_Z3addPKfP"])
def test_the_types_of_parameters_are_not_guessed(mangled):
    assert parameter_types(mangled) is None


@pytest.mark.parametrize("types, dtype, cure", [
    ("PKf", np.float64, "np.float32"), ("PKf", np.int64, "np.float32"), ("PKf", np.float16, "np.float32"),
    ("PKf", np.int32, "np.float32"), ("Pd", np.float32, "np.float64"), ("Pi", np.int64, "np.int32"),
    ("Pi", np.float32, "np.int32"), ("Px", np.int32, "np.int64"), ("Pj", np.float64, "np.uint32"),
    ("P6__half", np.float32, "np.float16"), ("P6__half", ml_dtypes.bfloat16, "np.float16"),
    ("P13__nv_bfloat16", np.float16, "ml_dtypes.bfloat16"), ("Pb", np.int32, "bool"), ("Pf", np.complex128, "np.float32"),
])
def test_an_array_of_other_elements_than_the_name_of_a_kernel_says_is_refused_with_what_to_pass(types, dtype, cure):
    entry = sl.ptx.load(module("ret;", ["u64"], f"_Z1k{types}")).entry()
    name = np.dtype(dtype).name
    with pytest.raises(MachineError, match=rf"argument 1 of 1: an? {name} array for .*\*: pass array.astype\({cure}\)"):
        entry.run(1, 1, np.ones(4, dtype))


@pytest.mark.parametrize("types, dtype", [
    ("PKf", np.float32), ("PKf", np.uint8), ("PKf", np.complex64), ("Pj", np.float32), ("Pj", np.float16), ("Pj", np.int32),
    ("Pi", np.int8), ("P6__half", np.uint16), ("P6float4", np.float16), ("P5uint4", ml_dtypes.bfloat16), ("Pv", np.float64),
    ("Ph", np.float64), ("P4Node", np.float64), ("PPf", np.uint64), ("Pf", np.dtype([("x", "f4"), ("y", "f4")])),
    ("Pb", bool), ("Py", np.uint64), ("Pl", "m8[s]"), ("P13__nv_bfloat16", ml_dtypes.bfloat16),
])
def test_arrays_whose_bytes_a_kernel_may_well_take_for_its_elements_pass(types, dtype):
    sl.ptx.load(module("ret;", ["u64"], f"_Z1k{types}")).entry().run(1, 1, np.zeros(4, dtype))


def test_the_tags_of_numbas_names_are_read_over():
    tagged = "_ZN8__main__6doubleB2v1B12cw51cXTLSUwvEPfi"
    assert cxx_name(tagged) == "__main__::double" and parameter_types(tagged) == ["float*", "int"]
    assert cxx_name("_Z4swapB5cxx11IiEvPT_S1_") == "swap<int>" and cxx_name("_Z1fB9shortEv") == "_Z1fB9shortEv"
