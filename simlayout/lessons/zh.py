"""What a Chinese notebook imports: `check` and `beside` speak Chinese; what simlayout itself reports is English, as ever.

>>> check("1.1", None, hints=2)
1.1：还没有答案（要的是：32 个字节地址，各是不同的字，恰好用 8 个 wavefront）
看哪里：写下每个 lane 的字所在的 bank，即字的编号模 32。最满的 bank 说了算。
>>> beside(None, 32)
你的预测    还没有：写在上面，再运行这两个单元格
模型        32
"""

from functools import partial

from simlayout.lessons import counted, verdict
from simlayout.lessons.counted import measured

__all__ = ["beside", "check", "measured"]

beside = partial(counted.beside, language="zh")
check = partial(verdict.check, language="zh")
