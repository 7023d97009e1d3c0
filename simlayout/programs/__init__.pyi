# What the names of this package are, for type checkers: it brings them when they are first used (simlayout.lazy).

from simlayout.programs.device import DeviceMemory, Launched, SharedArray, SimulatedDevice
from simlayout.programs.simulated import Simulated, simulate

__all__ = ["DeviceMemory", "Launched", "SharedArray", "Simulated", "SimulatedDevice", "simulate"]
