"""The CPU machine: runs CUDA kernels without a GPU, 32 lanes at a time; counts, and finds hazards.

Two front ends, python/, the source of a kernel written with instruction objects, and ptx/, the PTX of any compiler (its
face is simlayout.ptx), run on one engine/ (memory, barriers, asynchronous copies, warpgroups, counts). It tells hazards/
what it does, where is found who is ordered with whom, what happened to every byte, and what is wrong. arithmetic/ is that
of PTX, bit for bit.
"""

from simlayout.kernel import AccessCount
from simlayout.machine.engine.events import EVENTS, Event, watching
from simlayout.machine.engine.global_memory import GlobalPointer
from simlayout.machine.engine.memory import SharedMemory
from simlayout.machine.engine.tags import Tagged, tag
from simlayout.machine.engine.trace import Trace
from simlayout.machine.engine.warp import Warp
from simlayout.machine.hazards.kinds import KINDS, Hazard, Place
from simlayout.machine.python.registers import RegisterArray
from simlayout.machine.python.run import run
from simlayout.machine.python.work import execute

__all__ = ["EVENTS", "KINDS", "AccessCount", "Event", "GlobalPointer", "Hazard", "Place", "RegisterArray", "SharedMemory",
           "Tagged", "Trace", "Warp", "execute", "run", "tag", "watching"]
