# What the names of this package are, for type checkers: it brings them when they are first used (simlayout.lazy).

from simlayout.programs.device import DeviceMemory, Launched, SimulatedDevice
from simlayout.programs.shared_arrays import SharedArray
from simlayout.programs.simulated import Simulated, simulate

__all__ = ["DeviceMemory", "Launched", "SharedArray", "Simulated", "SimulatedDevice", "simulate"]
