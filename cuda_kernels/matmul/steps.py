"""From checked operands to launches: which kernel, in which order of memory, with which copies and workspace.

A Plan knows everything but the addresses; `bind` adds them. What a step of the work is, is data: a Step per launch.
"""

from dataclasses import dataclass, replace

from cuda_kernels.build import cache
from cuda_kernels.matmul.driver import Launch, Parameters, Shape, TensorMapMaker
from cuda_kernels.matmul.product import ALIGNED, copied, work_of
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import DeviceError, SimlayoutError
from simlayout.hardware.tables.arch import FEATURES, target_of

INT_LIMIT = 1 << 31
"""Kernels count elements and tiles in 32 signed bits."""


@dataclass(frozen=True)
class Step:
    """A launch but for addresses: the kernel's handle, its Shape, tensor maps as (maker, role, offset) (maker None: unused),
    and parameters as numbers or (role, offset). Roles name arrays: "a", "b", "c", "scratch", "split" and "counters"."""

    kernel: int
    shape: Shape
    maps: tuple
    types: str
    values: tuple
    name: str

    def bind(self, cuda, device, addresses):
        """The Launch for {role: address}."""
        makers = [(maker, addresses[role] + offset) for maker, role, offset in self.maps]
        values = [addresses[v[0]] + v[1] if isinstance(v, tuple) else v for v in self.values]
        return Launch(cuda, device, self.kernel, self.shape, Parameters(makers, self.types, values), self.name)


@dataclass(frozen=True)
class Place:
    """Where an operand of the kernel lies: its role, and its Matrices there."""

    role: str
    matrices: object
    offset: int = 0


@dataclass(frozen=True)
class Input:
    """A or the transpose of B: the role of its array and its Matrices there (rows by K), the offset of each piece; and how
    the kernel takes it: "K" or "MN", where, and whether that is a copy."""

    role: str
    matrices: object
    offsets: tuple
    major: str
    place: Place
    copied: bool

    def at(self, piece):
        """(role, offset) of what the kernel reads for a piece."""
        return self.place.role, self.place.offset if self.copied else self.offsets[piece]


class Steps:
    """Builds the steps of one product. a, b, c: (Operand-like shape, strides), dtype names; aligned: {role: whether the base
    address is 16-byte aligned}; overlap: whether the kernels may start before the ones ahead of them have ended."""

    def __init__(self, cuda, device, dtype, out, aligned, overlap=False):
        self.cuda, self.device, self.dtype, self.out, self.aligned = cuda, device, dtype, out, aligned
        self.overlap = overlap
        self.capability = cuda.capability(device)
        self.sms = cuda.multiprocessors(device)
        self.scratch = self.split = self.counters = 0
        self.steps, self.config = [], None

    # ---- what every kernel needs --------------------------------------------------------------------------------

    def kernel(self, config, name):
        """The handle of a configuration's kernel, compiled or from the cache."""
        entry, code = cache.compiled(config, self.cuda.version)
        return self.cuda.kernel(entry, code, config.shared_bytes, self.device, name)

    def room(self, nbytes):
        """The offset of new bytes in the scratch array."""
        at = self.scratch
        self.scratch += -(-nbytes // 256) * 256
        return at

    def copy(self, count, itemsize, source, source_at, target, target_at):
        """A step that copies `count` matrices: (role, Matrices) at offsets."""
        from cuda_kernels.matmul import repack

        (from_role, x), (to_role, y) = source, target
        if y.row == itemsize and y.rows > 1:          # the innermost dimension of the new order is the threads'
            x, y = x.transposed, y.transposed
        elif not y.rows_contiguous(itemsize) and x.row == itemsize:
            x, y = x.transposed, y.transposed
        config = repack.Copy(itemsize, target_of(self.capability))
        many = count if x.matrix or y.matrix else 1
        for first in range(0, many, repack.MATRICES):
            grid = config.grid(y.rows, y.cols, min(many - first, repack.MATRICES))
            values = ((from_role, source_at + first * x.matrix), (to_role, target_at + first * y.matrix), y.cols, y.rows,
                      x.col, x.row, x.matrix, y.col, y.row, y.matrix)
            self.steps.append(Step(self.kernel(config, "copy"), Shape(grid, (config.block, 1, 1), 0), (), repack.SIGNATURE,
                                   values, "copy"))

    def input(self, role, matrices, offsets, size, majors, count, tma=True):
        """(major, Place of each piece, whether copied): an operand as the kernel can take it.

        matrices: rows by K; majors: allowed orders, "K" and "MN"; offsets: of the pieces.
        """
        aligned = not tma or (self.aligned[role] and all(offset % ALIGNED == 0 for offset in offsets))
        for major in majors:
            m = matrices if major == "K" else matrices.transposed
            if aligned and (m.for_tma(size) if tma else m.rows_contiguous(size)):
                return major, Place(role, matrices), False
        keep_k = "MN" not in majors or ("K" in majors and not matrices.transposed.rows_contiguous(size))
        made, nbytes = copied(matrices, size, keep_k, count)
        return "K" if keep_k else "MN", Place("scratch", made, self.room(nbytes)), True


def row_major(work, itemsize, aligned):
    """(work, exchanged): the product or its transpose, so that rows of C are contiguous, and fit for TMA if either is."""
    fits = [w.c.rows_contiguous(itemsize) for w in (work, work.transposed)]
    tma = [w.c.for_tma(itemsize) and aligned for w in (work, work.transposed)]
    exchanged = not tma[0] and (tma[1] or (fits[1] and not fits[0]))
    return (work.transposed if exchanged else work), exchanged


class HopperSteps(Steps):
    """Steps with a wgmma kernel."""

    def build(self, a, b, c, kernel):
        """Adds the steps of c = a @ b; a, b, c: (shape, strides). kernel: a Hopper configuration or None."""
        size, size_c = TYPES[self.dtype].bytes, TYPES[self.out].bytes
        work, exchanged = row_major(work_of(a, b, c), size_c, self.aligned["c"])
        at, majors = list(zip(*work.pieces)), kernel.majors if kernel else ("K", "MN")
        inputs = [Input(role, matrices, at[i], *self.input(role, matrices, at[i], size, majors, work.count))
                  for i, (role, matrices) in enumerate(zip("ba" if exchanged else "ab", (work.a, work.b.transposed)))]
        place_c, copy_c = self.output(work, at[2], size_c)
        M, N, K = work.sizes
        self.check_sizes(M, N, K, place_c.matrices.row // size_c)
        by_tma = (place_c.matrices.for_tma(size_c) and size_c == 2
                  and (copy_c or (self.aligned["c"] and all(o % ALIGNED == 0 for o in at[2]))))
        config = self.configure(kernel, (M, N, K, work.count), *(x.major for x in inputs), by_tma)
        if config.c_major == "M":                        # rows of C are contiguous: the kernel makes C.T = B.T @ A.T
            inputs, M, N = inputs[::-1], N, M
        if not self.fits(config, (M, N, K, work.count)):
            config = replace(config, split=False)
        whole, parts = config.cut(M, N, K, work.count, self.sms)
        waits = config.split and parts > 1
        split, counters = config.workspace(M, N, K, work.count, self.sms)
        self.split, self.counters = max(self.split, split), max(self.counters, counters)
        shape = Shape((config.grid(M, N, K, work.count, self.sms), 1, 1), (config.block, 1, 1), config.shared_bytes,
                      together=waits, overlap=self.overlap and not waits)
        makers = self.makers(config, inputs, place_c.matrices, work.count)
        kernel = self.kernel(config.program, "matmul")
        m = place_c.matrices
        for i, piece in enumerate(work.pieces):
            for x in inputs:
                if x.copied:
                    self.copy(work.count, size, (x.role, x.matrices), x.offsets[i], ("scratch", x.place.matrices),
                              x.place.offset)
            places = [x.at(i) for x in inputs] + [("c", piece[2]) if place_c.role == "c" else ("scratch", place_c.offset)]
            values = (places[2], M, N, K, work.count, *(int(x.place.matrices.matrix > 0) for x in inputs),
                      m.row_pitch(size_c) // size_c, m.matrix, whole, parts, ("split", 0), ("counters", 0),
                      *config.order(M, N, work.count, whole, parts))
            maps = tuple((maker, *place) for maker, place in zip(makers, places))
            self.steps.append(Step(kernel, shape, maps, self.types(), values, f"{M}x{N}x{K} of {config}"))
            if copy_c:
                self.copy(work.count, size_c, ("scratch", m), place_c.offset, ("c", work.c), piece[2])
        self.config = config

    def fits(self, config, sizes):
        """Whether all clusters of a launch that wait for one another are on the GPU at a time: what is assumed of it, the
        H200's numbers, may be more than another one with as many SMs holds."""
        if not config.split or config.sharing == 1 or config.cut(*sizes, self.sms)[1] == 1:
            return True
        grid = config.grid(*sizes, self.sms)
        shape = Shape((grid, 1, 1), (config.block, 1, 1), config.shared_bytes, cluster=config.sharing)
        return self.cuda.clusters(self.device, self.kernel(config.program, "matmul"), shape) * config.sharing >= grid

    @staticmethod
    def types():
        """The kernel's parameters behind the maps."""
        from cuda_kernels.kernels.hopper.ptx import MAPS, SIGNATURE

        return SIGNATURE.split(maxsplit=MAPS)[-1]

    def output(self, work, offsets, size):
        """(Place, whether it is copied to C afterwards)."""
        if work.c.rows_contiguous(size):
            return Place("c", work.c), False
        made, nbytes = copied(work.c, size, True, work.count)
        return Place("scratch", made, self.room(nbytes)), True

    @staticmethod
    def check_sizes(*sizes):
        """Raises SimlayoutError if a size does not fit a signed 32-bit number."""
        if max(sizes) >= INT_LIMIT:
            raise SimlayoutError(f"a dimension or stride of {max(sizes)} elements: the kernels count up to {INT_LIMIT - 1}")

    def configure(self, kernel, sizes, major_a, major_b, by_tma):
        """The Hopper configuration for a problem."""
        from cuda_kernels.matmul.choose.choice import configured

        M, N, K, count = sizes
        found = configured(kernel, M, N, K, count, self.sms, major_a, major_b, self.dtype, self.out)
        if found.store == "tma" and not by_tma:
            found = replace(found, store="direct")
        if found.tiles(M, N, count) >= INT_LIMIT:
            raise SimlayoutError(f"{found.tiles(M, N, count)} tiles in one product: multiply fewer matrices at a time")
        return found

    def makers(self, config, inputs, c, count):
        """TensorMapMakers of A, B and C; None for C where it is stored directly."""
        from simlayout.hardware.matrix.tma import TensorMap

        def made(matrices, box, swizzle, dtype):
            size = TYPES[dtype].bytes
            pitch = matrices.row_pitch(size)
            dims = matrices.cols, matrices.rows, count if matrices.matrix else 1
            layout = TensorMap(dtype, dims, (pitch, matrices.matrix or pitch), box, swizzle=swizzle)
            return TensorMapMaker(self.cuda, self.device, layout)

        lines = [x.place.matrices if x.major == "K" else x.place.matrices.transposed for x in inputs]
        *found, for_c = zip((*lines, c), config.boxes(), config.swizzles, (self.dtype, self.dtype, self.out))
        return *(made(*x) for x in found), made(*for_c) if config.store == "tma" else None


class MmaSteps(Steps):
    """Steps with a kernel of `cuda_kernels.kernels.EVERY`: one matrix at a time."""

    def build(self, a, b, c, kernel):
        """Adds the steps of c = a @ b; kernel: a Kernel."""
        if (self.dtype, self.out) != (kernel.dtype, kernel.dtype):
            raise SimlayoutError(f"{kernel.name} multiplies {kernel.dtype} to {kernel.dtype}, not {self.dtype} to {self.out}"
                                 ": a GPU of compute capability 9.0 has kernels for f16 and bf16, and for f32 results")
        work, exchanged = row_major(work_of(a, b, c), 2, self.aligned["c"])
        role_a, role_b = ("b", "a") if exchanged else ("a", "b")
        at = list(zip(*work.pieces))
        by_k = kernel.blas_order == "NT"
        _, place_a, copy_a = self.input(role_a, work.a, at[0], 2, ("K",), work.count, tma=False)
        _, place_b, copy_b = self.input(role_b, work.b.transposed, at[1], 2, ("K" if by_k else "MN",), work.count, tma=False)
        place_c, copy_c = HopperSteps.output(self, work, at[2], 2)
        M, N, K = work.sizes
        places = place_a, place_b, place_c
        lines = place_a.matrices, place_b.matrices if by_k else place_b.matrices.transposed, place_c.matrices
        pitches = [m.row_pitch(2) // 2 for m in lines]
        HopperSteps.check_sizes(M, N, K, *pitches)
        aligned = [p.role == "scratch" or (self.aligned[p.role] and all(o % ALIGNED == 0 for o in offsets))
                   for p, offsets in zip(places, at)]
        aligned = [x and p.matrices.matrix % ALIGNED == 0 for x, p in zip(aligned, places)]
        fitted = kernel.fitted(M, N, K, *pitches).unaligned(*(not x for x in aligned))
        program = MmaProgram(fitted.name, fitted.options, target_of(self.capability), fitted.shared_bytes)
        shape = Shape(fitted.grid(M, N), (fitted.block, 1, 1), fitted.shared_bytes)
        handle = self.kernel(program, kernel.name)
        for piece in work.pieces:
            if copy_a:
                self.copy(work.count, 2, (role_a, work.a), piece[0], ("scratch", place_a.matrices), place_a.offset)
            if copy_b:
                self.copy(work.count, 2, (role_b, work.b.transposed), piece[1], ("scratch", place_b.matrices),
                          place_b.offset)
            for i in range(work.count):
                bases = tuple((p.role, (p.offset if p.role == "scratch" else o) + i * p.matrices.matrix)
                              for p, o in zip(places, piece))
                self.steps.append(Step(handle, shape, (), kernel.signature, (*bases, M, N, K, *pitches), kernel.name))
            if copy_c:
                self.copy(work.count, 2, ("scratch", place_c.matrices), place_c.offset, ("c", work.c), piece[2])
        self.config = fitted


@dataclass(frozen=True)
class MmaProgram:
    """A Kernel variant as something to compile and to cache: its repr names all that its machine code depends on."""

    name: str
    options: object
    arch: str
    shared_bytes: int

    def compile(self):
        """(name of the entry, machine code); no GPU needed."""
        from cuda_kernels.build.assembler import program
        from cuda_kernels.build.compile import ptx
        from cuda_kernels.kernels import EVERY

        options = {f: getattr(self.options, f) for f in self.options.__dataclass_fields__}
        return program(ptx(EVERY[self.name].variant(**options), self.arch), self.arch)


def steps_for(kernel, cuda, device, dtype, out, aligned, overlap=False):
    """(Steps, kernel): the builder for a kernel that a caller named, on a device.

    kernel: "auto", the name of a Kernel, a Kernel or a Hopper configuration; the rest as of `Steps`. Raises SimlayoutError,
    DeviceError.
    """
    from cuda_kernels.kernels import EVERY, KERNELS, Kernel
    from cuda_kernels.kernels.hopper.config import HOPPER, Hopper

    capability = cuda.capability(device)
    if not FEATURES["cp.async"].on(capability):
        raise DeviceError(f"GPU {device} has compute capability {capability[0]}.{capability[1]}; matmul needs 8.0 or newer "
                          "(cp.async)")
    if kernel == "auto":
        kernel = None if FEATURES["wgmma"].on(capability) else KERNELS["mma_permuted"]
    elif isinstance(kernel, str):
        named = {**HOPPER, **EVERY}
        if kernel not in named:
            raise SimlayoutError(f"kernel {kernel!r}: choose 'auto', {', '.join(map(repr, named))}")
        kernel = named[kernel]
    if isinstance(kernel, Kernel):
        return MmaSteps(cuda, device, dtype, out, aligned, overlap), kernel
    if kernel is not None and not isinstance(kernel, Hopper):
        raise SimlayoutError(f"kernel is {type(kernel).__name__}: pass a name, a Kernel or a Hopper configuration")
    if not FEATURES["wgmma"].on(capability):
        raise DeviceError("kernels for Hopper need compute capability 9.0; "
                          f'GPU {device} has {capability[0]}.{capability[1]}: use kernel="auto"')
    return HopperSteps(cuda, device, dtype, out, aligned, overlap), kernel
