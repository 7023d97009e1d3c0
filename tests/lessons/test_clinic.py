"""The clinic: every page has its parts, names its thread, and does what it shows."""

import doctest
import re
import subprocess
import sys

import pytest

from simlayout.cli import main
from simlayout.clinic import HEADINGS, page, pages
from simlayout.errors import SimlayoutError

NAMES = [p.name for p in pages()]
THREADS = {name: f"https://github.com/{path}" for name, path in (
    ("cudnn-221", "NVIDIA/cudnn-frontend/issues/221"),
    ("cutlass-1443", "NVIDIA/cutlass/issues/1443"),
    ("cutlass-1688", "NVIDIA/cutlass/issues/1688"),
    ("cutlass-1882", "NVIDIA/cutlass/issues/1882"),
    ("cutlass-2116", "NVIDIA/cutlass/issues/2116"),
    ("cutlass-2212", "NVIDIA/cutlass/issues/2212"),
    ("cutlass-2769", "NVIDIA/cutlass/issues/2769"),
    ("cutlass-2810", "NVIDIA/cutlass/issues/2810"),
    ("cutlass-2961", "NVIDIA/cutlass/issues/2961"),
    ("cutlass-3099", "NVIDIA/cutlass/issues/3099"),
    ("cutlass-3172", "NVIDIA/cutlass/issues/3172"),
    ("flashinfer-207", "AMD-Ecosystem/flashinfer/pull/207"),
    ("flashinfer-4950", "flashinfer-ai/flashinfer/issues/4950"),
    ("hgemm-base", "Bruce-Lee-LY/cuda_hgemm/blob/master/src/mma/mma_base.cu"),
    ("hgemm-4", "Bruce-Lee-LY/cuda_hgemm/issues/4"),
    ("iree-22256", "iree-org/iree/issues/22256"),
    ("iree-24428", "iree-org/iree/pull/24428"),
    ("leetcuda-formula", "xlite-dev/LeetCUDA/tree/main/kernels/swizzle"),
    ("llama-28536", "ggml-org/llama.cpp/pull/28536"),
    ("rocm-10891", "ROCm/rocm-libraries/issues/10891"),
    ("rocwmma-457", "ROCm/rocWMMA/issues/457"),
    ("te-2446", "NVIDIA/TransformerEngine/issues/2446"),
    ("te-3062", "NVIDIA/TransformerEngine/issues/3062"),
    ("tilelang-2379", "tile-ai/tilelang/issues/2379"),
    ("tilelang-2642", "tile-ai/tilelang/issues/2642"),
    ("torchao-4929", "pytorch/ao/issues/4929"),
    ("triton-8149", "triton-lang/triton/issues/8149"),
    ("triton-9662", "triton-lang/triton/pull/9662"),
)}


def examples(name):
    return doctest.DocTestParser().get_doctest(page(name).text, {}, name, f"{name}.md", 0)


@pytest.mark.parametrize("name", NAMES)
def test_every_page_does_what_it_shows(name):
    told = []
    result = doctest.DocTestRunner().run(examples(name), out=told.append)
    assert result.failed == 0, "".join(told)
    assert result.attempted >= 5


@pytest.mark.parametrize("name", NAMES)
def test_every_example_of_a_page_is_a_doctest_in_a_closed_block(name):
    text = page(name).text
    blocks = re.findall(r"```(\w*)\n(.*?)\n```", text, re.S)
    assert text.count("```") == 2 * len(blocks) > 6
    assert all(language == "python" and body.startswith(">>> ") and body.endswith("\n") for language, body in blocks)


@pytest.mark.parametrize("name", NAMES)
def test_every_page_has_its_parts_and_links_its_thread(name):
    text = page(name).text
    assert tuple(re.findall(r"^## (.*)$", text, re.M)) == HEADINGS
    assert re.match(r"# \S.{20,80}\n", text) and all(len(line) <= 125 for line in text.splitlines())
    links = re.findall(r"\]\(([^)]*)\)", re.sub(r"```.*?```", "", text, flags=re.S))
    question = text.split("## What happens")[0]
    assert THREADS[name] in links and THREADS[name] in question
    assert all(re.fullmatch(r"https://github\.com/[\w./-]+", link) for link in links)


def test_every_asked_case_has_a_page():
    assert NAMES == sorted(THREADS)


def test_the_command_lists_every_page_and_prints_one(capsys):
    assert main(["clinic"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == NAMES
    assert all(p.title in line for p, line in zip(pages(), lines))
    assert main(["clinic", "hgemm-4"]) == 0
    assert capsys.readouterr().out == page("hgemm-4").text


def test_a_page_that_is_not_there_is_refused_with_those_that_are(capsys):
    assert main(["clinic", "hgemm-5"]) == 2
    assert "there are cudnn-221, cutlass-1443, " in capsys.readouterr().err
    with pytest.raises(SimlayoutError, match="no page '../hgemm-4'"):
        page("../hgemm-4")


def test_the_library_does_not_load_the_clinic():
    code = "import simlayout, sys; assert not any('clinic' in name for name in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
