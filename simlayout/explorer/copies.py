"""The shown access in other languages, each text proved where it comes from, or the reason why there is none. They cost as
much as the rest of an answer, so they are written when somebody looks at them."""

from functools import lru_cache

from simlayout.codegen import emit
from simlayout.codegen.cute_cpp import cute_cpp
from simlayout.codegen.translation import translate
from simlayout.errors import SimlayoutError
from simlayout.explorer.sources import NONE
from simlayout.explorer.worked import Recorded, worked
from simlayout.hardware.tables.arch import DEFAULT_ARCH

NAMES = {"python": "Python (simlayout)", "cuda": "CUDA C++", "numba": "Numba", "cute": "CuTe", "cute_cpp": "CuTe C++",
         "triton": "Triton"}


@lru_cache(16)
def copies(state, sources=NONE):
    """{language: {title, text}}, or {title, error} for one that cannot say it.

    >>> from simlayout.explorer.state import State
    >>> copies(State())["cute"]["text"]
    'Sw<3,3,3> o (16,64):(64,1)'
    """
    works = worked(state.without_view(), sources)
    work = works[min(state.shown, len(works) - 1)]
    made = {"python": lambda: _python(state, work), "cuda": lambda: _emitted(work).cuda,
            "numba": lambda: _numba(_emitted(work).source, work.analysis.arch),
            "cute": lambda: _translated(work, "cute").text, "cute_cpp": lambda: cute_cpp(_translated(work, "cute").result),
            "triton": lambda: _translated(work, "triton").text}
    return {name: {"title": title, **_attempt(made[name])} for name, title in names_of(work.analysis.arch).items()}


def names_of(chip):
    """{language: its title} for a chip: HIP C++ is the same text as CUDA C++, and Numba compiles for NVIDIA's alone.

    >>> from simlayout.hardware import arch_of
    >>> names_of(arch_of("gfx942"))["cuda"]
    'HIP C++'
    """
    return NAMES if chip.capability else {**NAMES, "cuda": "HIP C++", "numba": "Python function"}


def _attempt(make):
    try:
        return {"text": make()}
    except SimlayoutError as error:
        return {"error": str(error).splitlines()[0]}


@lru_cache(1)
def _emitted(work):
    if isinstance(work.access, Recorded):
        raise SimlayoutError("a report has addresses, no index function")
    return emit(work.access, arch=work.analysis.arch)


def _numba(source, chip):
    return source if not chip.capability else f"from numba import cuda\n\n\n@cuda.jit(device=True)\n{source}"


def _translated(work, into):
    tile = getattr(work.access.tile, "layout", work.access.tile)
    if isinstance(work.access, Recorded):
        raise SimlayoutError("a report has addresses, no layout")
    if tile.rank != 2:
        raise SimlayoutError(f"a tile of {tile.rank} modes has no rows and columns, which {NAMES[into]}'s text is about")
    return translate(work.access.tile, into, dtype=work.access.dtype)


def _python(state, work):
    """A program that counts the same; of an access whose thread map is Python of a kernel the tile alone."""
    access = work.access
    chip = "" if state.arch == DEFAULT_ARCH else f", arch={state.arch!r}"
    if isinstance(access, Recorded):
        numbers = ", ".join(map(str, access.addresses.tolist()))
        taken = "" if access.active.all() else f", active={access.active.tolist()}"
        return f'import simlayout as sl\n\nprint(sl.analyze("{access.instruction}", [{numbers}]{taken}{chip}))\n'
    head = f'import simlayout as sl\nfrom simlayout.codegen.notations import tile\n\nTILE = tile({str(access.tile)!r})\n'
    use = state.accesses[min(state.shown, len(state.accesses) - 1)]
    if state.kernel:
        return f"{head}# {access.name}: cuda_kernels.KERNELS[{state.kernel!r}].plan.access({access.name!r})\n"
    if not use.lanes.strip():
        return (f'{head}from simlayout.proofs.natural import natural_access\n\nACCESS = natural_access(TILE, '
                f'{access.instruction!r}, {access.dtype!r}{chip})\nprint(sl.verify(ACCESS))\n')
    return (f"from simlayout.codegen.index_text import parse_index\n{head}\nACCESS = sl.Access({access.name!r}, "
            f"{access.instruction!r}, TILE, parse_index({use.lanes!r}, {tuple(access.domain)!r}), {access.domain!r}, "
            f"{access.dtype!r}, excess=None{chip})\nprint(sl.verify(ACCESS))\n")
