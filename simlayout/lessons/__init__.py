"""Ten lessons on shared memory, from banks to your own kernel: Jupyter notebooks in English and Chinese, and exercises
that check themselves.

>>> from simlayout.lessons import check, lessons
>>> print(lessons()[0])
1  Banks and wavefronts                          30 minutes  exercises 1.1, 1.2, 1.3
>>> print(check("1.2", None))
1.2: no answer yet (pad a 32x32 tile of f32)

`simlayout lesson 1` copies the notebook of a lesson and opens it; `simlayout lesson theory` prints the model on a page, and
`simlayout lesson teaching` a page for teachers. An answer is checked by what it does, so that every answer that is right
passes; a wrong one gets a hint that names the first lanes that conflict, or the first coordinate that is wrong, and more if
asked (`hints=2`, `hints=3`). A notebook is made of Markdown in `src`; that of another language has its prose from a file
such as `src/1_banks.zh.md`, and the code of the English one.
"""

from simlayout.lazy import when_used

__getattr__, __dir__, __all__ = when_used(__name__)
