# The names of this package, and where they come from: for type checkers, and for `simlayout.lazy`.

from simlayout.lessons.catalogue import (
    Lesson as Lesson, lesson as lesson, lessons as lessons, teaching as teaching, theory as theory
)
from simlayout.lessons.counted import Measured as Measured, beside as beside, measured as measured
from simlayout.lessons.device import gpu_or_cpu as gpu_or_cpu
from simlayout.lessons.verdict import Verdict as Verdict, check as check
