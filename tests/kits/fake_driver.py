"""A CUDA driver made of NumPy: the host side of matmul runs on it, down to the bytes that a launch is given.

The driver "encodes" a tensor map by writing down its arguments, and a launch computes with NumPy what the kernel would, from
nothing but the parameters in memory.
"""

import ctypes
import struct
from dataclasses import replace
from importlib import import_module

import ml_dtypes
import numpy as np

from cuda_kernels.kernels.hopper.window import WINDOW

DTYPES = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16), "f32": np.dtype(np.float32),
          "e4m3": np.dtype(ml_dtypes.float8_e4m3fn), "e5m2": np.dtype(ml_dtypes.float8_e5m2), "s8": np.dtype(np.int8),
          "u8": np.dtype(np.uint8), "s32": np.dtype(np.int32)}
_MAP = struct.Struct("<II Q 3Q 2Q 3I I")            # dtype, swizzle, address, dims, strides, box, magic


def view(address, dtype, shape, strides):
    """A NumPy array over memory at an address; strides in bytes."""
    extent = dtype.itemsize + sum((n - 1) * s for n, s in zip(shape, strides))
    return np.ndarray(shape, dtype, (ctypes.c_char * extent).from_address(address), strides=strides)


def value(kind, address):
    return kind.from_address(address).value


class _Function:
    """Like a ctypes function: has attributes, and a name."""

    def __init__(self, function):
        self.function, self.__name__ = function, function.__name__

    def __call__(self, *arguments):
        return self.function(*arguments)


class FakeLibrary:
    """libcuda of a machine with `devices` GPUs of one kind. launches: what ran; programs: what handles of kernels are;
    ctas: that its clusters have at most at a time; captured: whether streams are being captured, as number `capture`;
    ends: {stream: handles of the nodes that its capture ends with}."""

    def __init__(self, capability=(9, 0), devices=1, sms=132):
        self.attributes = {75: capability[0], 76: capability[1], 16: sms, 13: 1980000, 36: 2619000, 37: 5120, 38: 50 << 20}
        self.devices, self.launches, self.encoded, self.contexts, self.captured = devices, [], 0, [], False
        self.ctas, self.capture, self.ends, self._nodes = sms, 1, {}, 0x7000
        self.programs, self.memory, self.fails, self.cpu, self.places = {}, [], {}, set(), {}
        for name in dir(self):
            if name.startswith("cu"):
                setattr(self, name, _Function(getattr(self, name)))

    def cuInit(self, flags):
        return 0

    def cuDriverGetVersion(self, at):
        ctypes.c_int.from_address(at).value = 13000
        return 0

    def cuDeviceGetCount(self, at):
        ctypes.c_int.from_address(at).value = self.devices
        return 0

    def cuDeviceGet(self, at, index):
        return 0

    def cuDeviceGetAttribute(self, at, attribute, device):
        ctypes.c_int.from_address(at).value = self.attributes[attribute]
        return 0

    def cuDeviceGetName(self, at, size, device):
        ctypes.memmove(at, b"Made-up GPU\0", 12)
        return 0

    def cuDevicePrimaryCtxRetain(self, at, device):
        ctypes.c_void_p.from_address(at).value = 0x1000 + device
        return 0

    def cuCtxPushCurrent_v2(self, context):
        self.contexts.append(context)
        return 0

    def cuCtxPopCurrent_v2(self, at):
        self.contexts.pop()
        return 0

    def cuCtxGetCurrent(self, at):
        return 0

    def cuCtxSetCurrent(self, context):
        return 0

    def cuLibraryLoadData(self, at, code, *options):
        ctypes.c_void_p.from_address(at).value = int(code)
        return 0

    def cuLibraryGetKernel(self, at, library, name):
        ctypes.c_void_p.from_address(at).value = library.value
        return 0

    def cuKernelSetAttribute(self, attribute, number, kernel, device):
        return self.fails.get("shared", 0)

    def cuPointerGetAttribute(self, at, attribute, address):
        device = self.places.get(address, 0)
        ctypes.c_int.from_address(at).value = {2: 1 if address in self.cpu else 2, 9: device}[attribute]
        return 0

    def cuOccupancyMaxActiveClusters(self, at, kernel, config):
        attributes = config._obj.attributes
        assert kernel in self.programs and config._obj.count == 1 and attributes[0].id == 4 and self.contexts
        ctypes.c_int.from_address(at).value = self.ctas // attributes[0].value[0]
        return 0

    def cuMemAlloc_v2(self, at, nbytes):
        self.memory.append((ctypes.c_char * (nbytes + 256))())
        ctypes.c_uint64.from_address(at).value = -(-ctypes.addressof(self.memory[-1]) // 256) * 256
        return 0

    def cuStreamIsCapturing(self, stream, at):
        ctypes.c_int.from_address(at).value = int(self.captured)
        return 0

    def cuStreamGetCaptureInfo_v3(self, stream, status, number, graph, nodes, edges, count):
        ends = self.ends.get(stream, [])
        self.held = (ctypes.c_void_p * max(len(ends), 1))(*ends)
        ctypes.c_int.from_address(status).value = int(self.captured)
        ctypes.c_uint64.from_address(number).value = self.capture
        ctypes.c_void_p.from_address(nodes).value = ctypes.addressof(self.held)
        ctypes.c_size_t.from_address(count).value = len(ends)
        return 0

    def cuStreamSynchronize(self, stream):
        return 0

    def cuMemsetD2D8Async(self, address, pitch, number, width, height, stream):
        assert width <= pitch or height == 1
        for row in range(height):
            ctypes.memset(address + row * pitch, number, width)
        return 0

    def cuTensorMapEncodeTiled(self, target, dtype, rank, address, dims, strides, box, steps, interleave, swizzle, l2, fill):
        if self.fails.get("encode"):
            return self.fails["encode"].pop(0)
        dims = list((ctypes.c_uint64 * rank).from_address(dims))
        strides = list((ctypes.c_uint64 * (rank - 1)).from_address(strides))
        box = list((ctypes.c_uint32 * rank).from_address(box))
        steps = list((ctypes.c_uint32 * rank).from_address(steps))
        fine = (target % 64 == 0 and address % 16 == 0 and rank == 3 and all(0 < d <= 1 << 32 for d in dims)
                and all(s % 16 == 0 and 0 < s < 1 << 40 for s in strides) and all(0 < x <= 256 for x in box)
                and steps == [1] * rank and (box[0] * (1 if dtype == 0 else 2), interleave, fill) == (16 << swizzle, 0, 0))
        if not fine:
            return 1
        self.encoded += 1
        ctypes.memmove(target, _MAP.pack(dtype, swizzle, address, *dims, *strides, *box, 0xC0FFEE), _MAP.size)
        return 0

    def cuGetErrorName(self, status, at):
        ctypes.c_char_p.from_address(at).value = {1: b"CUDA_ERROR_INVALID_VALUE"}.get(status, b"CUDA_ERROR_UNKNOWN")
        return 0

    def cuGetErrorString(self, status, at):
        ctypes.c_char_p.from_address(at).value = b"made up"
        return 0

    def cuLaunchKernelEx(self, config, kernel, parameters, extra):
        if self.fails.get("launch"):
            return self.fails["launch"].pop(0)
        config, program = config._obj, self.programs[kernel.value]
        attributes = tuple(config.attributes[i].id for i in range(config.count))
        self.launches.append((launched_as(program), tuple(config.grid), tuple(config.block), config.shared_bytes,
                              config.stream or 0, attributes))
        self._nodes += 8
        self.ends[config.stream or 0] = [self._nodes]
        Run(program, parameters.value, tuple(config.grid)).go()
        return 0


def launched_as(program):
    """What the tests call a program: a Hopper configuration, another Kernel, or what copies."""
    kernel = getattr(program, "kernel", program)
    return kernel.options if getattr(kernel, "stacks", False) else kernel


class Run:
    """One launch: reads its parameters from memory, then does what the kernel does."""

    def __init__(self, program, places, grid):
        self.program, self.places, self.grid = program, places, grid

    def read(self, signature, first=0):
        kinds = {"u64": ctypes.c_uint64, "s32": ctypes.c_int32, "u32": ctypes.c_uint32}
        return [value(kinds[t], value(ctypes.c_uint64, self.places + 8 * (first + i)))
                for i, t in enumerate(signature.split())]

    def array_of_map(self, i, dtype):
        """The array that tensor map i describes: [matrix, outer, inner]."""
        at = value(ctypes.c_uint64, self.places + 8 * i)
        assert at % 64 == 0
        number, _, address, *rest = _MAP.unpack(ctypes.string_at(at, _MAP.size))
        dims, strides, magic = rest[:3], rest[3:5], rest[-1]
        assert magic == 0xC0FFEE and number == {"f16": 6, "bf16": 9}.get(dtype, 0)
        size = DTYPES[dtype].itemsize
        if self.options.windows[i]:                      # begins a window ahead, of which it may slide over all rows
            assert dims[1] == WINDOW and strides[0] == strides[1]
            dims, address = (dims[0], dims[2] - WINDOW, 1), address + WINDOW * strides[0]
        return view(address, DTYPES[dtype], (dims[2], dims[1], dims[0]), (strides[1], strides[0], size))

    def go(self):
        if type(self.program).__name__ == "Copy":
            self.copy()
        else:
            self.kernel, self.options = self.program.kernel, self.program.kernel.options
            self.hopper() if self.kernel.stacks else self.mma()

    def hopper(self):
        config = self.options
        values = self.read(" ".join(a.type for a in self.kernel.signature[3:]), 3)
        c, M, N, K, count, batched_a, batched_b, ldc, matrix_c, whole, parts, split, counters, *order = values
        order, early, scales = order[:7], order[7], order[8:]
        assert early in (0, 1)
        scales, added = (scales[:6], scales[6:]) if config.scaled else ([], scales)
        a, b = (self.array_of_map(i, dtype) for i, dtype in enumerate(config.types))
        if config.grouped:
            return import_module("host_groups").multiply(self, a, b, c, (M, N, K, count, ldc), order, scales)
        a = a if config.a_major == "K" else a.swapaxes(1, 2)
        b = b.swapaxes(1, 2) if config.b_major == "K" else b
        assert a.shape == (count if batched_a else 1, M, K) and b.shape == (count if batched_b else 1, K, N)
        assert order[1:] == list(replace(config, group=order[0]).order(M, N, count, whole, parts))[1:]
        dtype = DTYPES[config.out]
        lines = config.turned(M, N)
        target = view(c, dtype, (count, *lines), (matrix_c, ldc * dtype.itemsize, dtype.itemsize))
        if config.store == "tma":
            by_map = self.array_of_map(2, config.out)
            assert by_map.shape == target.shape and by_map.ctypes.data == c
            target = by_map
        if parts > 1 and config.split:
            cut = config.tiles(M, N, count) - whole
            assert not any(ctypes.string_at(counters, 8 * config.row_bands * cut))
            ctypes.memset(split, 255, 4 * config.tile_m * config.tile_n * cut * parts)
        made = np.matmul(a.astype(np.float32), b.astype(np.float32))
        if config.scaled:
            made = self.scaled(a, b, scales)
        if config.epilogue:
            made = self.finished(made, added, target)
        with np.errstate(over="ignore"):
            made = made.astype(dtype)
        target[:] = made if config.c_major == "N" else made.swapaxes(1, 2)

    def finished(self, made, added, target):
        """The product behind its epilogue; target: C as it lies in memory."""
        from cuda_kernels.kernels.hopper.activations import ACTIVATIONS
        from cuda_kernels.kernels.hopper.epilogue import EPILOGUES, in_pairs

        words, down = EPILOGUES[self.options.epilogue], self.options.c_major == "M"
        alpha, beta = np.array(added[:2], np.uint32).view(np.float32)
        bias, residual, multiply = added[2:]
        assert (alpha == 1 or words.alpha) and (beta == 1 or words.residual)
        assert not in_pairs(self.options) or made.shape[2] % 2 == 0 and not any(x % 4 for x in added[2:])
        assert [bool(x) for x in added[2:]] == [name in words.reads for name in ("bias", "residual", "multiply")]

        def like(address):
            found = view(address, target.dtype, target.shape, target.strides).astype(np.float32)
            return found.swapaxes(1, 2) if down else found

        made = alpha * made + (beta * like(residual) if residual else 0)
        if bias:
            of_rows, lines = words.bias == "m", made.shape[1 if words.bias == "m" else 2]
            of = view(bias, target.dtype, (lines,), (target.itemsize,)).astype(np.float32)
            made = made + (of[:, None] if of_rows else of)
        made = ACTIVATIONS[words.activation].exact(made) if words.activation else made
        return made * like(multiply) if multiply else made

    def scaled(self, a, b, scales):
        """The product of a and b, of one matrix each, every 128 of K (or all of it) times its scales."""
        from cuda_kernels.kernels.hopper.scales import grains_of

        config, f4, M, N, K = self.options, np.dtype("f4"), a.shape[1], b.shape[2], a.shape[2]
        (rows, *step_rows), (cols, *step_cols) = scales[:3], scales[3:]
        grains, deep = grains_of(config.scaled) or (1, 1), 128 if grains_of(config.scaled) else K
        of_a = view(rows, f4, (-(-M // grains[0]), -(-K // deep)), step_rows).repeat(grains[0], 0)[:M]
        of_b = view(cols, f4, (-(-N // grains[1]), -(-K // deep)), step_cols).repeat(grains[1], 0)[:N]
        parts = [(a[..., k:k + deep].astype(np.float32) @ b[:, k:k + deep].astype(np.float32))
                 * (of_a[:, k // deep, None] * of_b[None, :, k // deep]) for k in range(0, K, deep)]
        return np.sum(parts, axis=0, dtype=np.float32)

    def copy(self):
        from cuda_kernels.matmul import repack

        source, target, cols, rows, *strides = self.read(repack.SIGNATURE)
        dtype = np.dtype(f"u{self.program.size}")
        shape = (self.grid[2], rows, cols)
        assert self.grid[:2] == (-(-cols // 256), min(rows, 65535))
        view(target, dtype, shape, strides[:2:-1])[:] = view(source, dtype, shape, strides[2::-1])

    def mma(self):
        values = self.read(" ".join(a.type for a in self.kernel.signature))
        if self.kernel.name == "warptile":
            return self.warptile(*values)
        a, b, c, M, N, K, lda, ldb, ldc = values
        f16, options = DTYPES["f16"], self.options
        if options.ab_aligned:
            assert not (a % 16 or b % 16 or lda % 8 or ldb % 8 or K % 8)
        if options.c_aligned:
            assert not (c % 16 or ldc % 8 or N % 8)
        assert options.accumulate == "f32"
        left, right = view(a, f16, (M, K), (2 * lda, 2)), view(b, f16, (N, K), (2 * ldb, 2))
        view(c, f16, (M, N), (2 * ldc, 2))[:] = (left.astype(np.float32) @ right.astype(np.float32).T).astype(f16)

    def warptile(self, a, b, c, M, N, K, lda, ldb, ldc):
        bf16, options = DTYPES["bf16"], self.options
        for address, length, leading, aligned in ((a, K, lda, options.a_aligned), (b, N, ldb, options.b_aligned),
                                                  (c, N, ldc, options.c_aligned)):
            assert not aligned or not (address % 8 or length % 4 or leading % 4)
        left, right = view(a, bf16, (M, K), (2 * lda, 2)), view(b, bf16, (K, N), (2 * ldb, 2))
        view(c, bf16, (M, N), (2 * ldc, 2))[:] = (left.astype(np.float32) @ right.astype(np.float32)).astype(bf16)
