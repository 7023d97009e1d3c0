"""Counts of an H200 for the lessons: small tables, each row with the record that it comes from.

The records are files of tests/data, which packages do not contain; a test compares every row with them.
"""

from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np

from simlayout.arguments import typed
from simlayout.errors import SimlayoutError
from simlayout.hardware.tables.arch import LANES
from simlayout.lessons.translation import columns
from simlayout.shown import Shown

WHERE = "one NVIDIA H200, Nsight Compute 2025.3.1"
"""Of all records but h200_bench.json, whose times are the GPU's own."""

WIDTH, LABEL = 100, 12

LABELS = {
    "en": ("your guess", "the model", "measured", "none yet: write it above, and run both cells"),
    "zh": ("你的预测", "模型", "实测", "还没有：写在上面，再运行这两个单元格"),
}
"""Language -> what `beside` calls the guess, the model's answer and what was measured, and a guess that there is not."""

_LANE = np.arange(LANES)

PATTERNS = {
    # name: instruction, byte addresses of the lanes, wavefronts, file of tests/data, label there
    **{f"ld.shared.b32 stride {s}": ("ld.shared.b32", 4 * s * _LANE, w, "h200_cases.npz", f"stride {s}")
       for s, w in ((0, 1), (1, 1), (2, 2), (3, 1), (4, 4), (5, 1), (6, 2), (7, 1), (8, 8), (12, 4), (16, 16), (17, 1),
                    (24, 8), (32, 32), (33, 1))},
    **{f"ld.shared.b64 stride {s}": ("ld.shared.b64", 8 * s * _LANE, w, "h200_cases.npz", f"stride {s}")
       for s, w in ((0, 1), (1, 2), (2, 4), (3, 2), (4, 8))},
    **{f"ld.shared.b128 stride {s}": ("ld.shared.b128", 16 * s * _LANE, w, "h200_cases.npz", f"stride {s}")
       for s, w in ((0, 2), (1, 4), (2, 8), (3, 4), (4, 16), (5, 4), (8, 32), (9, 4))},
    **{f"st.shared.b128 stride {s}": ("st.shared.b128", 16 * s * _LANE, w, "h200_cases.npz", f"stride {s}")
       for s, w in ((0, 4), (1, 4), (5, 4))},
    **{f"ldmatrix.x4 stride {s}": ("ldmatrix.x4", 16 * s * _LANE, w, "h200_cases.npz", f"stride {s}")
       for s, w in ((1, 4), (2, 8), (4, 16), (5, 4), (8, 32), (9, 4))},
    **{f"ldmatrix.x4.trans stride {s}": ("ldmatrix.x4.trans", 16 * s * _LANE, w, "h200_cases.npz", f"stride {s}")
       for s, w in ((1, 4), (2, 8), (8, 32), (9, 4))},
    "stmatrix.x4 stride 8": ("stmatrix.x4", 128 * _LANE, 32, "h200_cases.npz", "stride 8"),
    "pairs": ("ld.shared.b128", 16 * (_LANE // 2), 2, "h200_wavefronts.npz", "l//2"),
    "pairs one lane later": ("ld.shared.b128", 16 * ((_LANE + 1) // 2 % 16), 4, "h200_wavefronts.npz", "rotpair1"),
    "pairs, lane 0 breaks": ("ld.shared.b128", np.where(_LANE == 0, 640, 16 * (_LANE // 2)), 5, "h200_wavefronts.npz",
                             "pairs, lane 0 breaks"),
    "halves": ("ld.shared.b128", 16 * (_LANE % 16), 4, "h200_wavefronts.npz", "l%16"),
}
"""Patterns of one warp, by `simlayout conform` and, in h200_wavefronts.npz, by another program."""

ACCESSES = {
    # (variant, access): executions by warps, wavefronts, ideal, file of tests/data
    ("practical 1.1 none stmatrix", "load left (none)"): (2, 16, 8, "h200_exercises.json"),
    ("practical 1.1 none stmatrix", "load right (none)"): (1, 8, 4, "h200_exercises.json"),
    ("practical 1.1 none stmatrix", "store (none)"): (2, 16, 8, "h200_exercises.json"),
    ("practical 1.1 none pairs", "store pairs (none)"): (8, 16, 8, "h200_exercises.json"),
    ("practical 1.1 xor stmatrix", "load left (xor)"): (2, 8, 8, "h200_exercises.json"),
    ("practical 1.1 xor stmatrix", "load right (xor)"): (1, 4, 4, "h200_exercises.json"),
    ("practical 1.1 xor stmatrix", "store (xor)"): (2, 8, 8, "h200_exercises.json"),
    ("practical 1.2 none stmatrix", "load left (none)"): (1, 16, 4, "h200_exercises.json"),
    ("practical 1.2 xor stmatrix", "load left (xor)"): (1, 4, 4, "h200_exercises.json"),
    ("practical 2.1 none stmatrix", "load blocks (none)"): (32, 1024, 128, "h200_exercises.json"),
    ("practical 2.1 none stmatrix", "load rows (none)"): (32, 256, 128, "h200_exercises.json"),
    ("practical 2.1 xor rows stmatrix", "load rows (xor rows)"): (32, 128, 128, "h200_exercises.json"),
    ("practical 2.1 xor rows stmatrix", "load blocks (xor rows)"): (32, 1024, 128, "h200_exercises.json"),
    ("practical 2.1 xor stmatrix", "load rows (xor)"): (32, 128, 128, "h200_exercises.json"),
    ("practical 2.1 xor stmatrix", "load blocks (xor)"): (32, 128, 128, "h200_exercises.json"),
    ("practical 3.1 xor interleaved stmatrix", "store blocks (xor rows)"): (16, 512, 64, "h200_exercises.json"),
    ("practical 3.1 xor interleaved wide stmatrix", "store blocks (xor rows wide)"): (16, 256, 64, "h200_exercises.json"),
    ("practical 3.1 xor stmatrix", "store blocks (xor)"): (16, 64, 64, "h200_exercises.json"),
    ("mma_base, 1 stage", "copy A"): (23936, 95744, 95744, "h200_kernels.json"),
    ("mma_base, 1 stage", "load A"): (47872, 765952, 191488, "h200_kernels.json"),
    ("mma_base, 1 stage", "store C"): (22528, 180224, 22528, "h200_kernels.json"),
    ("mma_blocks, 4 warps, lds", "lds A"): (191488, 382976, 191488, "h200_kernels.json"),
    ("mma_padded, 1 stage", "copy A"): (23936, 191488, 95744, "h200_kernels.json"),
    ("mma_padded, 1 stage", "load A"): (47872, 191488, 191488, "h200_kernels.json"),
    ("mma_padded, 1 stage", "store C"): (22528, 22528, 22528, "h200_kernels.json"),
    ("mma_permuted, 1 stage", "copy A"): (23936, 95744, 95744, "h200_kernels.json"),
    ("mma_permuted, 1 stage", "load A"): (47872, 191488, 191488, "h200_kernels.json"),
    ("mma_permuted, 1 stage", "store C"): (22528, 22528, 22528, "h200_kernels.json"),
}
"""Accesses of whole kernels: the practical problems; cuda_hgemm's kernel in three layouts, and MatmulTutorial's in one, at
1000 x 1384 x 520."""

TOTALS = {
    # what: number, unit, file of tests/data
    "mma_base, 4 stages": (201, "TFLOP/s at 8192 x 8192 x 8192", "h200_bench.json"),
    "mma_padded, 4 stages": (367, "TFLOP/s at 8192 x 8192 x 8192", "h200_bench.json"),
    "mma_permuted, 4 stages": (406, "TFLOP/s at 8192 x 8192 x 8192", "h200_bench.json"),
    "wgmma_tma": (65536, "wavefronts of wgmma's operands at 512 x 512 x 512", "h200_wgmma.json"),
    "wgmma_persistent": (245760, "wavefronts of wgmma's operands at 1024 x 1536 x 512", "h200_wgmma.json"),
    "wgmma_persistent, stage C": (24576, "wavefronts of 6144 stmatrix.x4 at 1024 x 1536 x 512", "h200_wgmma.json"),
}
"""Whole kernels."""


@dataclass(frozen=True)
class Measured(Shown):
    """A number measured on a GPU. value: the number; what: its unit and its subject; record: its file in tests/data."""

    value: int
    what: str
    record: str

    def __str__(self):
        return f"{self.value} {self.what}\n({WHERE}; {self.record})"


@typed()
def measured(what: str, access: str | None = None) -> Measured:
    """The Measured of a row: wavefronts per instruction of a pattern ("ld.shared.b32 stride 2") or of an access of a kernel
    ("mma_base, 1 stage", "load A"); or a number of a whole kernel ("mma_base, 4 stages"). SimlayoutError if there is none.

    >>> print(measured("ld.shared.b32 stride 32"))
    32 wavefronts
    (one NVIDIA H200, Nsight Compute 2025.3.1; h200_cases.npz)
    >>> measured("mma_base, 1 stage", "load A").value
    16
    """
    if access is not None and (what, access) in ACCESSES:
        executions, wavefronts, _, file = ACCESSES[what, access]
        each = wavefronts // executions
        return Measured(each, f"wavefront{'s' * (each > 1)} per instruction: {what}, {access}", file)
    if access is None and what in PATTERNS:
        number = PATTERNS[what][2]
        return Measured(number, f"wavefront{'s' * (number > 1)}", PATTERNS[what][3])
    if access is None and what in TOTALS:
        number, unit, file = TOTALS[what]
        return Measured(number, f"{unit}: {what}", file)
    raise SimlayoutError(f"nothing measured is called {what!r}{f', {access!r}' if access else ''}: see "
                         "simlayout.lessons.counted")


@typed()
def beside(guess: Any, model: Any, *counted: Any, language: str = "en") -> None:
    """Prints a guess, the model's answer and measured numbers beneath one another.

    guess: what was guessed, None if nothing was; model: what simlayout says; counted: Measured, or other things that were;
    language: of the words before them.

    >>> beside(None, 32, measured("ld.shared.b32 stride 32"))
    your guess  none yet: write it above, and run both cells
    the model   32
    measured    32 wavefronts
                (one NVIDIA H200, Nsight Compute 2025.3.1; h200_cases.npz)
    """
    if language not in LABELS:
        raise SimlayoutError(f"no labels in {language!r}; there are {', '.join(LABELS)}")
    ours, models, hardware, none = LABELS[language]
    rows = [(ours, none if guess is None else guess), (models, model), *((hardware, one) for one in counted)]
    for label, value in rows:
        lines = [line for text in str(value).splitlines() for line in wrap(text, WIDTH - LABEL)]
        print(label + " " * (LABEL - columns(label)) + f"\n{'':<{LABEL}}".join(lines))
