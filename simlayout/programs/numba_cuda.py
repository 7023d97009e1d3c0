"""numba-cuda over a SimulatedDevice: everything above its driver runs as it is."""

import os
import sys
import weakref
from functools import partial, wraps
from importlib import import_module
from inspect import unwrap
from itertools import zip_longest
from threading import RLock
from types import FunctionType, SimpleNamespace
from typing import Any
from warnings import warn

import numpy as np

from simlayout.errors import MachineError
from simlayout.machine.engine.trace import Trace
from simlayout.machine.python.rewrite import parameter_names
from simlayout.programs import numba_arrays, numba_vectorize
from simlayout.programs.device import SimulatedDevice, move
from simlayout.programs.doubles import doubles

INSTALL = 'Numba kernels need numba-cuda, which is not installed: pip install "simlayout[cuda]"'


MODULES = ("args", "codegen", "cudadrv.driver", "cudadrv.devices", "cudadrv.devicearray", "cudadrv.nvrtc", "dispatcher",
           "memory_management.nrt", "core.config", "api", "device_init")
"""Of numba.cuda, which name the driver, or what belongs to it."""


def _numba():
    """numba.cuda and the modules of it that name the driver. Raises MachineError without numba-cuda."""
    if os.environ.get("NUMBA_ENABLE_CUDASIM", "") not in ("", "0"):
        raise MachineError("NUMBA_ENABLE_CUDASIM is set, and Numba's own simulator compiles nothing: unset it")
    try:
        cuda = import_module("numba.cuda")
        modules = {name: import_module(f"numba.cuda.{name}") for name in MODULES}
    except ImportError:
        raise MachineError(INSTALL) from None
    if getattr(cuda, "implementation", "") != "NVIDIA":
        raise MachineError(INSTALL)
    return modules | {"numba.cuda": cuda, "cuda.core": import_module("cuda.core"),
                      "cuda.bindings.driver": import_module("cuda.bindings.driver"), "Out": modules["args"].Out,
                      "Codegen": modules["codegen"].JITCUDACodegen, "Code": modules["codegen"].CUDACodeLibrary,
                      "Kernel": modules["dispatcher"]._Kernel, "rtsys": modules["memory_management.nrt"].rtsys}


def replacements(device: SimulatedDevice) -> dict[str, dict[str, Any]]:
    """{module or class of numba.cuda: {name: what takes its place}}."""
    from simlayout.programs import numba_core as core
    from simlayout.programs.numba_driver import SimulatedBinding
    from simlayout.programs.numba_nvrtc import Program

    binding = SimulatedBinding(device)
    functions = {name: getattr(binding, name) for name in vars(SimulatedBinding) if name.startswith("cu")}
    code: Any = type("ObjectCode", (core.ObjectCode,), {"device": device})
    launch = {"launch": lambda stream, config, kernel, *values: core.launch(device, config, kernel, values),
              "LaunchConfig": core.LaunchConfig}
    linking = {"Linker": core.Linker, "LinkerOptions": core.LinkerOptions, "ObjectCode": code}
    program = {"Program": lambda text, kind, options=None: Program(text, kind, options, code.from_ptx)}
    devices = partial(core.Device, binding)
    arrays, dispatcher, codegen = (import_module(f"numba.cuda.{name}") for name in ("cudadrv.devicearray", "dispatcher",
                                                                                    "codegen"))
    magic = unwrap(codegen.JITCUDACodegen.magic_tuple)
    return {
        "cudadrv.driver": {"binding": binding, "find_driver": lambda: None, "ExperimentalStream": core.Stream,
                           "ExperimentalDevice": devices} | linking,
        "cuda.bindings.driver": functions,               # for programs that call the driver themselves
        "cudadrv.nvrtc": program,
        "cuda.core": {"Device": devices, "Stream": core.Stream} | launch | linking | program,
        "codegen": {"disassemble_cubin": _no_machine_code, "disassemble_cubin_for_cfg": _no_machine_code},
        "Codegen": {"magic_tuple": wraps(magic)(lambda self: (*magic(self), "simulated"))},    # a GPU must not find PTX
        "dispatcher": launch,
        "Kernel": _kernel_names(dispatcher, device),
        "Code": {"get_lto_ptx": _no_lto, "get_cufunc": _per_device(codegen.CUDACodeLibrary.get_cufunc, binding)}
        | _with_lto_ir(codegen.CUDACodeLibrary),
        "memory_management.nrt": launch,
        "rtsys": {"_memsys_module": None, "_memsys": None, "_initialized": False},
        "core.config": {"CUDA_LOW_OCCUPANCY_WARNINGS": 0},               # of a GPU that is not there
        "Out": {"to_device": _to_device(arrays, device)},
        "cudadrv.devicearray": {"_to_strided_memory_view": partial(_view, arrays, device),
                                "_make_strided_memory_view": lambda array, stream_ptr: _host_view(arrays, array)},
    }


def _kernel_names(dispatcher, device):
    """Of numba-cuda's class of a kernel that was compiled for its arguments: it becomes PTX of all its functions that names
    its lines, and never LTO, because what nvJitLink makes is machine code. A launch says what its arguments are called."""
    begin, launch = unwrap(dispatcher._Kernel.__init__), unwrap(dispatcher._Kernel.launch)

    @wraps(begin)
    def __init__(self, *args, debug=False, lineinfo=False, lto=False, **options):
        try:
            begin(self, *args, debug=debug, lineinfo=not debug, lto=False, **options)
        except ZeroDivisionError:                    # line information of an empty tuple, in numba-cuda
            begin(self, *args, debug=debug, lineinfo=lineinfo, lto=False, **options)

    @wraps(launch)
    def named(self, args, *rest, **options):
        names = parameter_names(getattr(self, "py_func", None))         # a kernel from Numba's cache has none
        _tell_of_types(self, names, args)
        device.passing = {id(getattr(value, "value", value)): f" of argument {i} (" + (f"{name}, " if name else "")
                          for i, (name, value) in enumerate(zip_longest(names[:len(args)], args), 1)}
        before, device.notes = device.notes, partial(doubles, self, args)
        try:
            return launch(self, args, *rest, **options)
        finally:
            device.passing, device.notes = {}, before
            device.memory.forget_passed()

    return {"__init__": __init__, "launch": named, "regs_per_thread": property(_no_registers)}


def _per_device(load, binding):
    """In place of `CUDACodeLibrary.get_cufunc`, which is `load`: code that was made or loaded for another device, of NVIDIA
    or simulated, is none of this one's, and the other way round. What is loaded is found at once where the device's context
    is that of this thread, as `load` would find it."""
    known: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
    load = unwrap(load)                                  # of a simulation in which this one is

    @wraps(load)
    def get_cufunc(self):
        own = known.setdefault(self, ({}, {}, False))
        if own[0] and binding.is_current():
            return next(iter(own[0].values()))           # of the only device that there is
        names = "_cufunc_cache", "_cubin_cache", "_lto"
        outside = [getattr(self, name) for name in names]
        for name, value in zip(names, own):
            setattr(self, name, value)
        try:
            return load(self)
        finally:
            for name, value in zip(names, outside):
                setattr(self, name, value)

    return get_cufunc


def _with_lto_ir(code):
    """Of numba-cuda's class of compiled code: a kernel that is linked with LTO-IR, as those of cuda.coop are, becomes LTO-IR
    itself, and both are optimized together, as for a GPU."""
    link_all, get_ltoir = unwrap(code._link_all), unwrap(code.get_ltoir)
    kind = import_module("numba.cuda.cudadrv.linkable_code").LTOIR

    @wraps(link_all)
    def linked(self, linker, *args, **options):
        linker.lto = any(isinstance(part, kind) or str(part).endswith(".ltoir") for part in self._linking_files)
        return link_all(self, linker, *args, **options)

    @wraps(get_ltoir)
    def named(self, cc=None):
        kept = self.llvm_strs          # NVRTC's LTO-IR says 1 (error), and no other will do
        self._llvm_strs = [text.replace('i32 2, !"Debug Info Version"', 'i32 1, !"Debug Info Version"') for text in kept]
        try:
            return get_ltoir(self, cc)
        finally:
            self._llvm_strs = kept

    return {"_link_all": linked, "get_ltoir": named}


def _no_registers(kernel):
    raise MachineError("the registers of a thread are known when ptxas has made machine code, which is not made here")


def _no_lto(library, cc=None):
    raise MachineError("link-time optimization is nvJitLink's, which makes machine code: look at the PTX (inspect_asm)")


def _no_machine_code(cubin):
    raise MachineError("SASS is machine code, which is not made for a simulated device: look at the PTX (inspect_asm)")


def _shim(arrays, address, shape, strides, dtype):
    """numba-cuda's own view of memory."""
    like = np.lib.stride_tricks.as_strided(np.empty(0, dtype), shape, strides)
    layout = arrays._StridedLayoutShim(strides_in_bytes=tuple(like.strides), is_contiguous_c=like.flags.c_contiguous,
                                       is_contiguous_f=like.flags.f_contiguous, is_contiguous_any=like.flags.forc)
    return arrays._StridedMemoryViewShim(ptr=address, shape=tuple(shape), dtype=np.dtype(dtype), size=int(np.prod(shape)),
                                         _layout=layout)


def _host_view(arrays, array):
    array = np.asanyarray(array)
    return _shim(arrays, array.__array_interface__["data"][0] if array.size else 0, array.shape, array.strides, array.dtype)


class _Copied:
    """Device memory with a copy of an array of the host, of the same strides; it is freed with this view of it."""

    def __init__(self, arrays, device, array, filled):
        low, high = np.lib.array_utils.byte_bounds(array) if array.size else (0, 0)
        self._memory, self._start = device.memory, device.memory.allocate(high - low)
        first = self._start + (array.__array_interface__["data"][0] - low if array.size else 0)
        if filled:
            move(self._start, low, high - low)
        view = _shim(arrays, first, array.shape, array.strides, array.dtype)
        for name in ("ptr", "shape", "dtype", "size", "_layout"):
            setattr(self, name, getattr(view, name))

    def give_back(self, array):
        """Writes what is there to the array that it is a copy of."""
        if array.flags.writeable and array.size:
            held = self._memory.find(self._start)
            offset = self.ptr - self._start
            self._memory.seen = True
            array[...] = np.ndarray(array.shape, array.dtype, held, offset, array.strides)

    def __del__(self):
        self._memory.free(self._start)


def _view(arrays, device, value, stream=0, copy=True, user_explicit=False):
    """(a view of device memory, whether it is a copy) of an argument: as `devicearray._to_strided_memory_view`."""
    if arrays._driver.is_device_memory(value):
        return value._strided_memory_view_shim, False
    described = getattr(value, "__cuda_array_interface__", None)
    if described is not None:
        device.memory.seen = True                        # by the library whose memory it is
        _wait_for(described.get("stream"))
        record = described["typestr"][1] == "V" and "descr" in described
        dtype = np.dtype([tuple(field) for field in described["descr"]] if record else described["typestr"])
        shape = tuple(described["shape"])
        strides = described.get("strides") or np.ndarray(shape, dtype, b"" if 0 in shape else None).strides
        return _shim(arrays, described["data"][0] or 0, shape, strides, dtype), False
    if copy and not user_explicit and isinstance(value, np.ndarray):
        _tell_of_copy(arrays)
    return _Copied(arrays, device, np.asanyarray(value), copy), True


def _tell_of_copy(arrays):
    """Warns, as numba-cuda does, of an array of the host that is an argument of a kernel."""
    from numba.cuda.core import config, errors

    if config.CUDA_WARN_ON_IMPLICIT_COPY and not config.DISABLE_PERFORMANCE_WARNINGS:
        warn(errors.NumbaPerformanceWarning("Host array used in CUDA kernel will incur copy overhead to/from device."),
             stacklevel=_users_frame())


def _tell_of_types(kernel, names, args):
    """Warns of arrays that are not what an explicit signature says: numba-cuda does not look, and a GPU takes the bytes."""
    for i, (name, wanted, arg) in enumerate(zip_longest(names[:len(args)], kernel.argument_types, args), 1):
        value = getattr(arg, "value", arg)
        dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
        if not isinstance(dtype, np.dtype) or not shape or not hasattr(wanted, "layout"):
            continue
        rows = wanted.layout == "C" and not value.flags["C_CONTIGUOUS"]
        if dtype.kind in "fiuc" and wanted.dtype.name != dtype.name or wanted.ndim != len(shape) or rows:
            given = f"{dtype} of shape {shape}" + ", not in C's order" * rows
            warn(f"argument {i}{f' ({name})' if name else ''} of {kernel.py_func.__name__} is {given}, and the kernel was "
                 f"compiled for {wanted}: a GPU takes its bytes as they are", stacklevel=_users_frame())


def _users_frame():
    """How many frames above its caller the first is that is not of Numba or simlayout."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("numba", "simlayout"):
        frame, level = frame.f_back, level + 1
    return level


def _wait_for(stream):
    """Waits for a stream that another library names, as numba-cuda does: a program may count on being asked."""
    from numba.cuda.cudadrv import devicearray

    if stream is not None and devicearray.config.CUDA_ARRAY_INTERFACE_SYNC:
        devicearray.devices.get_context().create_external_stream(stream).synchronize()


def _to_device(arrays, device):
    """What takes the place of `args.Out.to_device`."""
    def to_device(argument, after, stream=0):
        """The view of an argument. after: functions to call when the kernel is over, which write back what was copied."""
        value = argument.value
        view, copied = _view(arrays, device, value, copy=argument.copy_input)
        if id(value) in device.passing:
            elements = np.dtype(view.dtype).itemsize, tuple(view.shape), tuple(view._layout.strides_in_bytes)
            kind = view.dtype if view.dtype.names is None else f"records of {', '.join(view.dtype.names)}"
            device.memory.passed(view.ptr, f"{device.passing[id(value)]}{kind} of shape {view.shape})", elements)
        if copied:
            after.append(lambda: view.give_back(np.asanyarray(value)))
        return view

    return to_device


class NumbaOnDevice:
    """A context in which numba-cuda uses a SimulatedDevice, whether there is a GPU or not; it may be entered again.

    Arrays on the device must not be used outside of it, and what is left of them is freed with the device. settings: of
    numba.cuda's config meanwhile. Raises MachineError without numba-cuda.
    """

    _entered: list["NumbaOnDevice"] = []                 # the last one is what numba-cuda uses

    def __init__(self, device: SimulatedDevice, **settings: Any):
        self._modules = _numba() | numba_arrays.modules() | numba_vectorize.modules()
        made = replacements(device) | numba_arrays.replacements(device) | numba_vectorize.replacements()
        self._names = {module: dict(names) for module, names in made.items()}      # which change, each on its own
        self._names["core.config"] |= settings
        self._names["cudadrv.driver"]["weakref"] = SimpleNamespace(proxy=weakref.proxy, finalize=self._finalize)
        self._state, self._runtime, self._lock = None, self._modules["cudadrv.devices"]._Runtime(), RLock()

    def __enter__(self):
        self._lock.acquire()
        self._swap()
        driver = self._modules["cudadrv.driver"].driver
        self._outside, state = dict(vars(driver)), self._state
        vars(driver).clear()
        if state is None:
            driver.__init__()
        else:
            vars(driver).update(state)
        self._entered.append(self)
        return self

    def __exit__(self, *error):
        self._entered.remove(self)
        driver = self._modules["cudadrv.driver"].driver
        self._state = dict(vars(driver))
        vars(driver).clear()
        vars(driver).update(self._outside)
        self._swap()
        self._lock.release()

    def _finalize(self, one, function, *args):
        """As `weakref.finalize`, for numba-cuda's handles: outside of this context, at the interpreter's exit say, they are
        no handles of the driver that is in place, or there is none."""
        made = weakref.finalize(one, lambda: function(*args) if self._entered[-1:] == [self] else None)
        made.atexit = False
        return made

    def _swap(self):
        """Names that numba.cuda has, and those of this device, change places."""
        for module, names in self._names.items():
            for name, new in names.items():
                names[name] = getattr(self._modules[module], name)
                setattr(self._modules[module], name, new)
        devices = self._modules["cudadrv.devices"]
        devices._runtime, self._runtime = self._runtime, devices._runtime
        for holder in ("cudadrv.devices", "api", "device_init", "numba.cuda"):
            self._modules[holder].gpus = devices._runtime.gpus


def is_kernel(kernel: Any) -> bool:
    """Whether a kernel is one of numba-cuda, or a Python function.

    >>> is_kernel(is_kernel), is_kernel("text")
    (True, False)
    """
    return isinstance(kernel, FunctionType) or type(kernel).__name__ == "CUDADispatcher"


class NumbaKernel:
    """A kernel as numba.cuda.jit makes it, or a function written for it, on a SimulatedDevice; compiled once per
    signature."""

    def __init__(self, kernel: Any, device: SimulatedDevice):
        self._numba, self._device = NumbaOnDevice(device, CUDA_WARN_ON_IMPLICIT_COPY=0), device
        self._function = getattr(kernel, "py_func", kernel)
        self._options = dict(getattr(kernel, "targetoptions", {}))
        self._made: Any = None

    def launch(self, grid: Any, block: Any, shared_bytes: int, args: tuple, options: dict) -> Trace:
        """Runs it once; its arrays are changed in place. Raises what numba-cuda raises for arguments that it cannot take."""
        if options:
            raise MachineError(f"a Numba kernel takes no options: {', '.join(options)}")
        with self._numba:
            if self._made is None:
                self._made = import_module("numba.cuda").jit(self._function) if not self._options else \
                    import_module("numba.cuda.dispatcher").CUDADispatcher(self._function, targetoptions=self._options)
            self._made[grid, block, 0, shared_bytes](*args)
        return self._device.launches[-1].trace
