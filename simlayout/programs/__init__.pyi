# The names of this package, and where they come from: for type checkers, and for `simlayout.lazy`.

from simlayout.programs.device import DeviceMemory as DeviceMemory, Launched as Launched, SimulatedDevice as SimulatedDevice
from simlayout.machine.ptx.declared.shared_arrays import SharedArray as SharedArray
from simlayout.programs.simulated import Simulated as Simulated, simulate as simulate
