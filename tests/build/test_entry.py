"""A kernel's PTX is taken apart, changed and put together again, and what is not understood is refused."""

import re

import pytest

from cuda_kernels.build.entry import Entry
from simlayout.errors import SimlayoutError

TEXT = """//
.version 9.0
.target sm_90a

	// .globl	f
.extern .shared .align 1024 .b8 room[];

.visible .entry f(
	.param .u64 f_param_0,
	.param .u64 f_param_1,
	.param .u32 f_param_10
)
.maxntid 384, 1, 1
.minnctapersm 1
{
	.reg .b64 %rd<9>;
	ld.param.u64 	%rd1, [f_param_0];
	ld.param.u64 	%rd2, [f_param_1];
	ld.param.u32 	%r1, [f_param_10];
	ret;
}
"""


def test_a_text_comes_back_as_it_was():
    assert str(Entry.of(TEXT)) == TEXT


def test_a_compiled_kernel_comes_back_as_it_was():
    pytest.importorskip("numba.cuda")
    from cuda_kernels import KERNELS
    from cuda_kernels.build.compile import ptx

    text = ptx(KERNELS["mma_base"].variant(stages=1))
    assert str(Entry.of(text)) == text and len(Entry.of(text).parameters) == 9


def test_an_address_becomes_a_value_and_the_kernel_takes_its_address():
    made = str(Entry.of(TEXT).with_values(1))
    lines = {before: after for before, after in zip(TEXT.split("\n"), made.split("\n"), strict=True) if before != after}
    assert lines == {"\t.param .u64 f_param_0,": "\t.param .align 64 .b8 f_param_0[128],",
                     "\tld.param.u64 \t%rd1, [f_param_0];": "\tmov.b64 %rd1, f_param_0; cvta.param.u64 %rd1, %rd1;"}
    both = str(Entry.of(TEXT).with_values(2))
    assert re.findall(r"f_param_\d+\[128\]", both) == ["f_param_0[128]", "f_param_1[128]"]
    assert "ld.param.u32 \t%r1, [f_param_10];" in both               # not parameter 1


def test_the_size_of_clusters_stands_behind_that_of_ctas():
    found = Entry.of(TEXT).in_clusters(4).directives
    assert found == (".maxntid 384, 1, 1", ".reqnctapercluster 4, 1, 1", ".minnctapersm 1")


@pytest.mark.parametrize("change, fault", [
    (lambda text: Entry.of(text).with_values(3), "parameter 2 is not one 64-bit address"),
    (lambda text: Entry.of(text).with_values(4), "parameter 2 is not one"),
    (lambda text: Entry.of(text).with_values(1).with_values(1), "parameter 0 is not one"),
    (lambda text: Entry.of(text.replace("[f_param_0]", "[f_param_0+4]")).with_values(1), "f_param_0 otherwise than as an"),
    (lambda text: Entry.of(text.replace("u64 \t%rd1", "v2.u32 \t{%r2, %r3}")).with_values(1), "otherwise than as an addr"),
    (lambda text: Entry.of(text.replace(".maxntid 384, 1, 1\n", "")).in_clusters(2), "directives are .minnctapersm 1"),
    (lambda text: Entry.of(text.replace(".entry", ".func")), "one line with .entry, this one 0"),
    (lambda text: Entry.of(text + text), "this one 2"),
    (lambda text: Entry.of(text.replace("f(\n\t", "f(")), "not followed by a parameter per line"),
    (lambda text: Entry.of(text.replace("\t.param .u64 f_param_0,", "\tf_param_0,")), "'f_param_0,' declares no parameter"),
    (lambda text: Entry.of(text.replace("\n)\n", ")\n")), "not followed by a parameter per line"),
])
def test_a_text_that_does_not_look_as_expected_is_refused(change, fault):
    with pytest.raises(SimlayoutError, match=fault):
        change(TEXT)
