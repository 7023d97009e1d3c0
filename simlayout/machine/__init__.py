"""The CPU machine: runs the source of a CUDA kernel written in Python, 32 lanes at a time; counts, and finds hazards."""

from simlayout.kernel import AccessCount
from simlayout.machine.events import EVENTS, Event, watching
from simlayout.machine.hazards import KINDS, Hazard, Place
from simlayout.machine.launch import run
from simlayout.machine.memory import GlobalPointer, SharedMemory
from simlayout.machine.registers import RegisterArray
from simlayout.machine.tags import Tagged, tag
from simlayout.machine.trace import Trace
from simlayout.machine.warp import Warp
from simlayout.machine.work import execute

__all__ = ["EVENTS", "KINDS", "AccessCount", "Event", "GlobalPointer", "Hazard", "Place", "RegisterArray", "SharedMemory",
           "Tagged", "Trace", "Warp", "execute", "run", "tag", "watching"]
