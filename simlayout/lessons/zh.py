"""What a Chinese notebook imports: `check` gives its second and third hint in Chinese; the rest is as in simlayout.lessons.

>>> check("1.1", None, hints=2)
1.1: no answer yet (32 byte addresses of 32 different words that take exactly 8 wavefronts)
看哪里：写下每个 lane 的字所在的 bank，即字的编号模 32。最满的 bank 说了算。
"""

from functools import partial

from simlayout.lessons.counted import beside, measured
from simlayout.lessons.verdict import check as check_in

__all__ = ["beside", "check", "measured"]

check = partial(check_in, language="zh")
