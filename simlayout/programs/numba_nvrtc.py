"""cuda.core.Program over NVRTC, which compiles CUDA C++ without a GPU: to PTX that names its lines, whatever is wanted."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

from cuda.bindings import nvrtc

from simlayout.errors import MachineError


class Program:
    """cuda.core.Program of CUDA C++ text. options: a cuda.core.ProgramOptions. object_code: makes an ObjectCode of PTX
    and a name."""

    def __init__(self, text: str, kind: str, options: Any, object_code: Any):
        if kind.lower() not in ("c++", "ptx"):
            raise MachineError(f"source text in {kind} is not executed: give CUDA C++ or PTX")
        self._text, self._kind, self._options, self._object_code = text, kind.lower(), options, object_code

    def compile(self, target: str, name_expressions: Any = (), logs: Any = None) -> Any:
        """An ObjectCode, always of PTX: what else NVRTC makes is no text. logs: gets what NVRTC has to say.

        Raises cuda.core's NVRTCError with that.
        """
        name = self._options.name or "default_program"
        if self._kind == "ptx":
            return self._object_code(self._text, name)
        plain = replace(self._options, link_time_optimization=None)
        options = tuple(plain.as_bytes("nvrtc", "ptx"))
        if not any(option in (b"--generate-line-info", b"-lineinfo", b"--device-debug", b"-G") for option in options):
            options += (b"--generate-line-info",)
        text, log = _compiled(self._text, name, options)
        if log and logs is not None:
            logs.write(log)
        return self._object_code(text, name)

    def close(self) -> None:
        """Nothing is held."""


@lru_cache(64)
def _compiled(text, name, options):
    """(PTX, what NVRTC said) of CUDA C++; sources that many kernels are linked with are compiled once."""
    program = _checked(nvrtc.nvrtcCreateProgram(text.encode(), name.encode(), 0, [], []))
    try:
        result, = nvrtc.nvrtcCompileProgram(program, len(options), list(options))
        log = bytearray(_checked(nvrtc.nvrtcGetProgramLogSize(program), program))
        _checked(nvrtc.nvrtcGetProgramLog(program, log), program)
        said = log.decode("utf-8", "replace").rstrip("\0")
        if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise _error()(f"{result.name}: {said}")
        made = bytearray(_checked(nvrtc.nvrtcGetPTXSize(program), program))
        _checked(nvrtc.nvrtcGetPTX(program, made), program)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    return made.decode().rstrip("\0"), said


def _checked(answer, program=None):
    """What an NVRTC function gives besides its result."""
    result, *values = answer
    if result != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        raise _error()(result.name)
    return values[0] if values else None


def _error():
    from cuda.core._utils.cuda_utils import NVRTCError

    return NVRTCError
