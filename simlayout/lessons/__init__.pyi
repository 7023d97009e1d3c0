# What the names of this package are, for type checkers: it brings them when they are first used (simlayout.lazy).

from simlayout.lessons.catalogue import Lesson, lesson, lessons, teaching, theory
from simlayout.lessons.counted import Measured, beside, measured
from simlayout.lessons.device import gpu_or_cpu
from simlayout.lessons.verdict import Verdict, check

__all__ = ["Lesson", "Measured", "Verdict", "beside", "check", "gpu_or_cpu", "lesson", "lessons", "measured",
           "teaching", "theory"]
