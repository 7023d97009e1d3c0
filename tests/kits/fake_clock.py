"""`fake_driver` with memory, graphs and events: a GPU on which a launch takes as long as a test says."""

import ctypes
from dataclasses import replace

from fake_driver import FakeLibrary, launched_as, value

from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.kernels.hopper.kernel import SIGNATURE


class TimedLibrary(FakeLibrary):
    """takes: a function of a Hopper configuration -> microseconds of its launch; wrong: configurations that write zeros;
    turn: called with each configuration that is launched in a graph. alive: what was made and not ended again."""

    def __init__(self, takes=lambda config: 10.0, **machine):
        super().__init__(**machine)
        self.takes, self.wrong, self.now, self.recorded, self.graphs = takes, set(), 0.0, None, {}
        self.alive, self.events, self.turn = set(), {}, lambda config: None
        self.free = 1 << 40

    # ---- memory -------------------------------------------------------------------------------------------------

    def cuCtxSynchronize(self):
        return 0

    def cuMemAlloc_v2(self, at, nbytes):
        if nbytes > self.free:
            return 2
        status = super().cuMemAlloc_v2(at, nbytes)
        self.alive.add(ctypes.c_uint64.from_address(at).value)
        return status

    def cuMemFree_v2(self, address):
        self.alive.remove(address)
        return 0

    def cuMemcpyHtoD_v2(self, address, data, nbytes):
        ctypes.memmove(address, data, nbytes)
        return 0

    cuMemcpyDtoD_v2 = cuMemcpyDtoH_v2 = cuMemcpyHtoD_v2

    # ---- streams, events, graphs --------------------------------------------------------------------------------

    def _new(self, at):
        handle = 0x5000 + len(self.events) + len(self.graphs) + len(self.alive)
        while handle in self.alive or handle in self.graphs:
            handle += 1
        ctypes.c_void_p.from_address(at).value = handle
        self.alive.add(handle)
        return handle

    def cuStreamCreate(self, at, flags):
        self._new(at)
        return 0

    def cuEventCreate(self, at, flags):
        self._new(at)
        return 0

    def cuStreamDestroy_v2(self, handle):
        self.alive.remove(handle)
        return 0

    cuEventDestroy_v2 = cuGraphExecDestroy = cuStreamDestroy_v2

    def cuEventRecord(self, event, stream):
        self.events[event] = self.now
        return 0

    def cuEventSynchronize(self, event):
        return 0

    def cuEventElapsedTime(self, at, start, stop):
        ctypes.c_float.from_address(at).value = (self.events[stop] - self.events[start]) / 1e3
        return 0

    def cuStreamBeginCapture_v2(self, stream, mode):
        self.recorded = []
        return 0

    def cuStreamEndCapture(self, stream, at):
        handle = self._new(at)
        self.graphs[handle], self.recorded = self.recorded, None
        return 0

    def cuGraphInstantiateWithFlags(self, at, graph, flags):
        handle = self._new(at)
        self.graphs[handle] = self.graphs[graph.value]
        return 0

    def cuGraphDestroy(self, graph):
        self.alive.remove(graph.value)
        return 0

    def cuGraphLaunch(self, graph, stream):
        for config in self.graphs[graph]:
            self.now += self.takes(config)
            self.turn(config)
        return 0

    def configuration(self, kernel, parameters):
        """What a launch executes, with what is passed to it: its order of tiles, and whether the next may begin early."""
        config = launched_as(self.programs[kernel.value])
        if not isinstance(config, Hopper):
            return config
        names = [argument.name for argument in SIGNATURE]

        def passed(name):
            return value(ctypes.c_int32, value(ctypes.c_uint64, parameters.value + 8 * names.index(name)))

        return replace(config, group=passed("group"), early=bool(passed("early")))

    def cuLaunchKernelEx(self, config, kernel, parameters, extra):
        program = self.configuration(kernel, parameters)
        if self.recorded is not None:
            self.recorded.append(program)
            return 0
        self.now += self.takes(program)
        return 0 if program in self.wrong else super().cuLaunchKernelEx(config, kernel, parameters, extra)
