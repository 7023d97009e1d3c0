"""Where a Numba program declares its arrays in shared memory: told while numba-cuda compiles it, by the PTX symbol."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from simlayout.programs.device import SimulatedDevice

SHARED = 3
"""The address space of shared memory in NVVM."""


def modules() -> dict[str, Any]:
    """{name: module or class} of numba.cuda, for `replacements`."""
    return {"cudaimpl": import_module("numba.cuda.cudaimpl"),
            "dispatcher.CUDADispatcher": import_module("numba.cuda.dispatcher").CUDADispatcher}


def replacements(device: SimulatedDevice) -> dict[str, dict[str, Any]]:
    """{name as in `modules`: {name: what takes its place}}."""
    made = modules()
    return {"cudaimpl": {"_generic_array": noting(device, made["cudaimpl"]._generic_array)},
            "dispatcher.CUDADispatcher": {"compile_device": with_lines(made["dispatcher.CUDADispatcher"].compile_device)}}


def noting(device: SimulatedDevice, make: Callable) -> Callable:
    """In place of numba-cuda's `cudaimpl._generic_array`, which is `make`: also tells the device what it makes."""
    def generic_array(context: Any, builder: Any, shape: Any, dtype: Any, symbol_name: str, addrspace: int, *rest: Any,
                      **options: Any) -> Any:
        place = _place(builder)
        if addrspace == SHARED and place is not None:
            device.declared[symbol_name] = (*place, tuple(int(n) for n in shape))
        return make(context, builder, shape, dtype, symbol_name, addrspace, *rest, **options)

    return generic_array


def _place(builder):
    """(file, line) of what a builder of llvmlite is at; None without line information."""
    at = builder.debug_metadata
    if at is None:
        return None
    location = dict(at.operands)
    file = dict(dict(location["scope"].operands)["file"].operands)
    return f"{file['directory']}/{file['filename']}", int(location["line"])


def with_lines(compile_device: Callable) -> Callable:
    """In place of `CUDADispatcher.compile_device`: device functions name their lines too."""
    def compile(dispatcher: Any, args: Any, return_type: Any = None) -> Any:
        if not dispatcher.targetoptions.get("debug"):
            dispatcher.targetoptions["lineinfo"] = True
        return compile_device(dispatcher, args, return_type)

    return compile
