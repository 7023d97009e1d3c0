"""Kernels of cases on the GPU, through the CUDA driver alone; a module that the driver refuses is taken apart."""

import ctypes
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from ctypes import addressof, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

import numpy as np

from cuda_kernels.conformance.opcodes.forms import AnyCase
from cuda_kernels.conformance.opcodes.operands import operands
from cuda_kernels.conformance.opcodes.text import module_of
from cuda_kernels.conformance.opcodes.together import CTA
from cuda_kernels.run import driver

PER_MODULE = 24
"""Kernels of one module."""
ERROR_LOG, ERROR_LOG_BYTES = 5, 6
"""CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES (cuda.h)."""
LOG_BYTES = 8192


class Refused(Exception):
    """PTX that the driver does not take; the text is its reason."""


class Device:
    """The GPU 0: loads modules, runs their kernels on operands. Memory is allocated once and used again."""

    def __init__(self):
        self.cuda, self.index = driver.cuda(), 0
        library = self.cuda.library
        library.cuMemcpyHtoD_v2.argtypes = (c_uint64, c_void_p, c_size_t)
        library.cuMemcpyDtoH_v2.argtypes = (c_void_p, c_uint64, c_size_t)
        library.cuDeviceGetName.argtypes = (c_void_p, ctypes.c_int, ctypes.c_int)
        library.cuModuleLoadDataEx.argtypes = (c_void_p, c_void_p, ctypes.c_uint, c_void_p, c_void_p)
        library.cuModuleGetFunction.argtypes = (c_void_p, c_void_p, ctypes.c_char_p)
        self._room: dict[str, tuple[int, int]] = {}
        self._given = None

    @property
    def target(self) -> str:
        """The architecture that modules are written for: "sm_90a"."""
        major, minor = self.cuda.capability(self.index)
        return f"sm_{10 * major + minor}" + "a" * (major >= 9)

    def about(self) -> dict:
        """The GPU and its driver."""
        name = ctypes.create_string_buffer(256)
        self.cuda.check(self.cuda.library.cuDeviceGetName(name, 256, self.index), "names no device")
        return {"device": name.value.decode(), "target": self.target, "cuda": f"{self.cuda.version // 1000}."
                f"{self.cuda.version % 1000 // 10}"}

    def load(self, text: str) -> c_void_p:
        """The module that the driver makes of PTX, at once; a library might be compiled at a launch. Raises Refused."""
        log, module = ctypes.create_string_buffer(LOG_BYTES), c_void_p()
        options = (ctypes.c_int * 2)(ERROR_LOG, ERROR_LOG_BYTES)
        values = (c_void_p * 2)(addressof(log), LOG_BYTES)
        code = text.encode() + b"\0"
        with self.cuda.on(self.index):
            status = self.cuda.library.cuModuleLoadDataEx(addressof(module), code, 2, options, values)
        if status:
            said = [line.strip() for line in log.value.decode(errors="replace").splitlines() if "error" in line.lower()]
            raise Refused(said[0] if said else f"error {status}")
        return module

    def kernel(self, module: c_void_p, entry: str) -> int:
        """The handle of an entry."""
        handle = c_void_p()
        with self.cuda.on(self.index):
            status = self.cuda.library.cuModuleGetFunction(addressof(handle), module, entry.encode())
        self.cuda.check(status, f"finds no {entry}")
        return handle.value or 0

    def room(self, name: str, nbytes: int) -> int:
        """The address of memory of that name, at least so many bytes."""
        if self._room.get(name, (0, 0))[1] < nbytes:
            self._room[name] = self.cuda.allocate(self.index, nbytes), nbytes
        return self._room[name][0]

    def put(self, address: int, array: np.ndarray) -> None:
        """Copies an array to the GPU."""
        with self.cuda.on(self.index):
            status = self.cuda.library.cuMemcpyHtoD_v2(address, array.ctypes.data, array.nbytes)
        self.cuda.check(status, "copies nothing there")

    def get(self, address: int, array: np.ndarray) -> np.ndarray:
        """Copies from the GPU to an array."""
        with self.cuda.on(self.index):
            status = self.cuda.library.cuMemcpyDtoH_v2(array.ctypes.data, address, array.nbytes)
        self.cuda.check(status, "copies nothing back")
        return array

    def launch(self, kernel: int, grid: int, block: int, values: list, name: str) -> None:
        """Runs a kernel on ctypes values and waits for it."""
        places = (c_void_p * len(values))(*(addressof(value) for value in values))
        shape = driver.Shape((grid, 1, 1), (block, 1, 1), 0)
        with self.cuda.on(self.index):
            status = self.cuda.library.cuLaunchKernelEx(shape.on(0), c_void_p(kernel), c_void_p(addressof(places)), None)
        self.cuda.check(status, f"refused to launch {name}")
        self.cuda.synchronize(self.index, 0)

    def run(self, kernel: int, case: AnyCase, seed: int) -> np.ndarray:
        """What a case's kernel stores, uint64 [results, count]; of a result the bits above its register's are anything."""
        given = operands(case.roles, case.count, seed)
        sources = self.room("sources", given.nbytes)
        if self._given != (key := (case.roles, case.count, seed)):
            self.put(sources, given)
            self._given = key
        stored = np.empty((len(case.results), case.count), np.uint64)
        results = self.room("results", stored.nbytes)
        self.launch(kernel, -(-case.count // CTA), CTA,
                    [c_uint64(sources), c_uint64(results), c_uint32(case.count)], case.name)
        return self.get(results, stored)


def loaded(device: Device, cases: list[AnyCase]) -> Iterator[tuple[AnyCase, int | None, str]]:
    """(case, the handle of its kernel or None, why the driver refused it) for each case, many modules at a time."""
    target = device.target
    groups = [cases[i:i + PER_MODULE] for i in range(0, len(cases), PER_MODULE)]
    with ThreadPoolExecutor(16) as pool:
        for made in pool.map(lambda group: taken_apart(lambda text: device.load(text), group, target), groups):
            for group, module, reason in made:
                for i, case in enumerate(group):
                    yield case, device.kernel(module, f"k{i}") if module else None, reason


def taken_apart(load: Callable, group: list[AnyCase], target: str) -> list[tuple[list[AnyCase], Any, str]]:
    """[(cases, their module or None, the reason)] of a group; where the driver refuses it, of its halves.

    >>> from cuda_kernels.conformance.opcodes.forms import chosen
    >>> def load(text):
    ...     if "ftz" in text:
    ...         raise Refused("no ftz")
    ...     return "module"
    >>> [(len(group), *rest) for group, *rest in taken_apart(load, chosen(["div.full.*"]), "sm_90")]
    [(1, 'module', ''), (1, None, 'no ftz')]
    """
    try:
        return [(group, load(module_of(group, target)), "")]
    except Refused as refused:
        if len(group) == 1:
            return [(group, None, str(refused))]
    half = len(group) // 2
    return taken_apart(load, group[:half], target) + taken_apart(load, group[half:], target)
