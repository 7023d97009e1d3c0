"""From checked operands to launches: which kernel, in which order of memory, with which copies and workspace.

A Recipe knows everything but the addresses; `bind` adds them. Each launch is data, a Step.
"""

from dataclasses import dataclass

from cuda_kernels.build import cache
from cuda_kernels.build.program import Program
from cuda_kernels.kernels.hopper.kernel import kernel_of
from cuda_kernels.kernels.hopper.scaling import scaled_by
from cuda_kernels.kernels.hopper.window import WINDOW
from cuda_kernels.matmul.choose.choice import choose
from cuda_kernels.matmul.choose.figures import figures_of
from cuda_kernels.matmul.choose.wanted import Wanted
from cuda_kernels.matmul.finish import Finish
from cuda_kernels.matmul.product import ALIGNED, Matrices, Work, copied, work_of
from cuda_kernels.matmul.tune.kept import kept
from cuda_kernels.run.driver import OVERLAPS, Shape, TensorMapMaker
from cuda_kernels.run.step import Step, step_of
from simlayout.algebra.dtypes import TYPES
from simlayout.errors import DeviceError, SimlayoutError
from simlayout.hardware.matrix.operand_tile import majors_of
from simlayout.hardware.matrix.tma import TensorMap
from simlayout.hardware.matrix.window import Window, window_dims
from simlayout.hardware.tables.arch import FEATURES, target_of
from simlayout.kernel import Kernel, Problem

INT_LIMIT = 1 << 31
"""Kernels count elements and tiles in 32 signed bits."""


@dataclass(frozen=True)
class Held:
    """A, the transpose of B, or C of a product, and where a kernel has it.

    role: of its array; given: its Matrices there, of A and B rows by K; offsets: of each piece, in bytes. matrices: its
    Matrices as the kernel has it; scratch: the offset of that in the scratch array, None if it is the array itself. major:
    "K" where the elements of a row of `matrices` lie together, as those of C do, "MN" where those of a column do.
    """

    role: str
    given: Matrices
    offsets: tuple
    matrices: Matrices
    scratch: int | None = None
    major: str = "K"

    @property
    def copied(self):
        """Whether the kernel has a copy."""
        return self.scratch is not None

    @property
    def lines(self):
        """Its Matrices as the kernel has it, with what lies together in rows."""
        return self.matrices if self.major == "K" else self.matrices.transposed

    def at(self, piece, number=0):
        """(role, offset) of a matrix of a piece, by its number, as the kernel has it."""
        role, first = ("scratch", self.scratch) if self.copied else (self.role, self.offsets[piece])
        return role, first + number * self.matrices.matrix


class Steps:
    """Builds the steps of one product. types: dtype names of a and b; out: of c; aligned: {role: whether the base address is
    16-byte aligned; "added": whether those of all that is read beside c are}; overlap: whether the kernels may be launched
    before the ones ahead of them have ended, where the driver can; scales: {"a": Scales of a, "b": of b}, {} of a product
    without scales; finish: the Finish of its elements; use_kept: whether what tuning has kept is used. wanted: once it is
    built, the Wanted; None of other kernels."""

    def __init__(self, cuda, device, types, out, aligned, overlap=True, scales=None, finish=None, use_kept=False):
        self.cuda, self.device, self.types, self.out, self.aligned = cuda, device, types, out, aligned
        self.overlap = overlap and cuda.version >= OVERLAPS
        self.scales, self.use_kept, self.wanted = scales or {}, use_kept, None
        self.finish, self.size, self.size_c = finish or Finish(), TYPES[types[0]].bytes, TYPES[out].bytes
        self.capability = cuda.capability(device)
        self.sms = cuda.multiprocessors(device)
        self.scratch = self.split = self.counters = self.step_groups = 0
        self.steps, self.kernel = [], None

    # ---- what every kernel needs --------------------------------------------------------------------------------

    def handle(self, program, name):
        """The handle of what a program compiles to, compiled or from the cache."""
        entry, code = cache.compiled(program, self.cuda.version)
        return self.cuda.kernel(entry, code, program.shared_bytes, self.device, name)

    def compiled(self, kernel):
        """The handle of a Kernel."""
        return self.handle(Program(kernel.compiled_as, target_of(self.capability)), kernel.name)

    def room(self, nbytes):
        """The offset of new bytes in the scratch array."""
        at = self.scratch
        self.scratch += -(-nbytes // 256) * 256
        return at

    def copy(self, count, itemsize, source, target):
        """A step that copies `count` matrices; source, target: ((role, offset), Matrices)."""
        from cuda_kernels.matmul import repack

        ((from_role, source_at), x), ((to_role, target_at), y) = source, target
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
            self.steps.append(Step(self.handle(config, "copy"), Shape(grid, (config.block, 1, 1), 0), (), repack.SIGNATURE,
                                   values, "copy"))

    def pieces(self, work, inputs, c):
        """The number of each piece. Steps that are added meanwhile stand between the copies into the scratch array and those
        out of it."""
        for i in range(len(work.pieces)):
            for x in inputs:
                if x.copied:
                    self.copy(work.count, self.size, ((x.role, x.offsets[i]), x.given), (x.at(i), x.matrices))
            yield i
            if c.copied:
                self.copy(work.count, self.size_c, (c.at(i), c.matrices), ((c.role, c.offsets[i]), c.given))

    def starts_aligned(self, role, offsets):
        """Whether the matrices of an array start on 16 bytes in each piece."""
        return self.aligned[role] and all(offset % ALIGNED == 0 for offset in offsets)

    def input(self, role, matrices, offsets, majors, count, tma=True):
        """A or the transpose of B as the kernel can take it. matrices: rows by K; majors: allowed orders, "K" and "MN"."""
        usable = not tma or self.starts_aligned(role, offsets)
        for major in majors:
            m = matrices if major == "K" else matrices.transposed
            if usable and (m.for_tma(self.size) if tma else m.rows_contiguous(self.size)):
                return Held(role, matrices, offsets, matrices, major=major)
        keep_k = "MN" not in majors or ("K" in majors and not matrices.transposed.rows_contiguous(self.size))
        packed, nbytes = copied(matrices, self.size, keep_k, count)
        return Held(role, matrices, offsets, packed, self.room(nbytes), "K" if keep_k else "MN")

    def output(self, work):
        """C as the kernel can write it."""
        offsets = tuple(at for _, _, at in work.pieces)
        if work.c.rows_contiguous(self.size_c):
            return Held("c", work.c, offsets, work.c)
        packed, nbytes = copied(work.c, self.size_c, True, work.count)
        return Held("c", work.c, offsets, packed, self.room(nbytes))

    @staticmethod
    def check_sizes(*sizes):
        """Raises SimlayoutError if a size does not fit a signed 32-bit number."""
        if max(sizes) >= INT_LIMIT:
            raise SimlayoutError(f"a dimension or stride of {max(sizes)} elements: the kernels count up to {INT_LIMIT - 1}")


def row_major(work, itemsize, aligned):
    """(work, exchanged): the product or its transpose, so that rows of C are contiguous, and fit for TMA if either is."""
    fits = [w.c.rows_contiguous(itemsize) for w in (work, work.transposed)]
    tma = [w.c.for_tma(itemsize) and aligned for w in (work, work.transposed)]
    exchanged = not tma[0] and (tma[1] or (fits[1] and not fits[0]))
    return (work.transposed if exchanged else work), exchanged


@dataclass(frozen=True)
class Laid:
    """A product as a kernel is given it. work: its Work; inputs: A and the transpose of B; aligned: whether C, and what is
    read beside it, starts on 16 bytes; wanted: all that a configuration depends on."""

    work: Work
    inputs: list[Held]
    c: Held
    aligned: bool
    wanted: Wanted


class HopperSteps(Steps):
    """Steps with a wgmma kernel. grouped: whether the rows of A belong to groups."""

    grouped = False

    def lay(self, a, b, c, majors=None):
        """The Laid of c = a @ b; a, b, c: (shape, strides); majors: orders of operands that the kernel takes, None for all
        that wgmma does."""
        epilogue, (work, exchanged) = self.finish.epilogue, self.work(a, b, c)
        at, majors = list(zip(*work.pieces)), majors or majors_of(self.types[0])
        inputs = [self.input(role, matrices, offsets, self.orders(role, majors), work.count) for role, matrices, offsets in
                  zip("ba" if exchanged else "ab", (work.a, work.b.transposed), at)]
        held = self.output(work)
        if held.copied and epilogue.like_c:
            raise SimlayoutError("out has neither rows nor columns whose elements lie together, and with "
                                 f"{' and '.join(epilogue.like_c)} it needs them: pass another out")
        m, (M, N, K) = held.matrices, work.sizes
        self.check_sizes(M, N, K, m.row // self.size_c)
        aligned = held.copied or self.starts_aligned("c", held.offsets)
        aligned = aligned and self.aligned.get("added", True)            # what is read beside C is read in pairs
        by_pairs = N % 2 == 0 or not epilogue.reads
        wanted = Wanted(M, N, K, work.count, *(x.major for x in inputs), self.types[::-1] if exchanged else self.types,
                        self.out, scaled_by(*(self.scales[x.role] for x in inputs)) if self.scales else "",
                        "tma" if aligned and by_pairs and m.for_tma(self.size_c) else "direct",
                        str(epilogue.transposed if exchanged else epilogue), self.grouped)
        return Laid(work, inputs, held, aligned, wanted)

    def orders(self, role, majors):
        """Of the orders that the kernel takes, those in which an operand may lie."""
        return majors

    def work(self, a, b, c):
        """(the Work of c = a @ b, whether it is of the transposes)."""
        epilogue, size = self.finish.epilogue, self.size_c
        folds = {"": (False, True), "n": (False,), "m": (True,)}[epilogue.bias]
        work, exchanged = row_major(work_of(a, b, c, folds), size, self.aligned["c"])
        if epilogue.like_c and not work.c.rows_contiguous(size):     # what lies as C does cannot be copied
            return row_major(work_of(a, b, c, ()), size, self.aligned["c"])
        return work, exchanged

    def build(self, a, b, c, kernel):
        """Adds the steps of c = a @ b; a, b, c: (shape, strides). kernel: a HopperKernel or None."""
        of_kernel = kernel and tuple(major for major in majors_of(self.types[0]) if major in kernel.options.majors)
        laid = self.lay(a, b, c, of_kernel)
        work, inputs, m, wanted = laid.work, laid.inputs, laid.c.matrices, laid.wanted
        M, N, K = work.sizes
        kernel, self.wanted = self.configure(kernel, wanted), wanted
        if kernel.majors[2] == "M":                      # rows of C are contiguous: the kernel makes C.T = B.T @ A.T
            inputs, M, N = inputs[::-1], N, M
        problem = Problem(M, N, K, work.count, ldc=m.row_pitch(self.size_c) // self.size_c, step_c=m.matrix, sms=self.sms,
                          c=0 if laid.aligned else self.size_c, step_groups=self.step_groups,
                          **{f"step_{name}": x.matrices.matrix for name, x in zip("ab", inputs)},
                          **{f"{which}_scale_{name}": getattr(self.scales[x.role], which)
                             for name, x in zip("ab", inputs) if self.scales for which in ("step", "deep")},
                          alpha=self.finish.alpha, beta=self.finish.beta)
        kernel = kernel.fitted(problem)
        if not self.fits(kernel, problem):
            kernel = kernel.variant(split=False)
        launched = kernel.launch_shape(problem)
        spare = kernel.workspace(problem)
        self.split, self.counters = max(self.split, spare["split"]), max(self.counters, spare["counters"])
        shape = Shape(launched.grid, (launched.block, 1, 1), launched.shared_bytes, together=launched.together,
                      overlap=self.overlap)
        makers = self.makers(kernel, inputs, m, work.count)
        handle = self.compiled(kernel)
        for i in self.pieces(work, inputs, laid.c):
            like_c = laid.c.offsets[i]
            places = {"split": ("split", 0), "counters": ("counters", 0), "a": inputs[0].at(i), "b": inputs[1].at(i),
                      "c": laid.c.at(i), "scale_a": (f"scale_{inputs[0].role}", 0),
                      "scale_b": (f"scale_{inputs[1].role}", 0), "offsets": ("offsets", 0), "bias": ("bias", 0),
                      "residual": ("residual", like_c), "multiply": ("multiply", like_c)}
            self.steps.append(step_of(kernel, problem, handle, shape, places, lambda used: makers[used.role],
                                      f"{M}x{N}x{K} of {kernel.options}"))
        self.kernel = kernel

    def fits(self, kernel, problem):
        """Whether the GPU holds all clusters of a launch at a time, if they wait for one another. The plan assumes an H200;
        another GPU with as many SMs may hold fewer."""
        launched, sharing = kernel.launch_shape(problem), kernel.options.sharing
        if not launched.together or sharing == 1:
            return True
        shape = Shape(launched.grid, (launched.block, 1, 1), launched.shared_bytes, cluster=sharing)
        return self.cuda.clusters(self.device, self.compiled(kernel), shape) * sharing >= launched.grid[0]

    def configure(self, kernel, wanted):
        """The kernel for what is wanted: the one that is given, else the one that is kept, else one that is chosen."""
        if kernel and kernel.grouped:
            raise SimlayoutError("grouped = True: this product has no groups; use grouped_matmul, or grouped=False")
        if kernel is None:
            suited = self.chosen(wanted)
        else:
            suited = kernel.taking(wanted.types, wanted.out, wanted.majors, wanted.scaled,
                                   wanted.epilogue)
        tiles = suited.options.tiles(wanted.M, wanted.N, wanted.matrices)
        if tiles >= INT_LIMIT:
            raise SimlayoutError(f"{tiles} tiles in one product: multiply fewer matrices at a time")
        return suited

    def chosen(self, wanted):
        """The kernel that is kept for what is wanted, else the one that is chosen."""
        config = kept(self.cuda, self.device, wanted) if self.use_kept else None
        return kernel_of(config or choose(wanted, figures_of(self.cuda, self.device)))

    def makers(self, kernel, inputs, c, count):
        """{role: the TensorMapMaker} of A, B and, where TMA stores it, C."""
        config = kernel.options

        def maker(matrices, box, swizzle, dtype, window):
            pitch = matrices.row_pitch(TYPES[dtype].bytes)
            if window:
                dims = window_dims(matrices.cols, matrices.rows, WINDOW)
                layout = Window(dtype, dims, (pitch, pitch), box, swizzle=swizzle)
            else:
                dims = matrices.cols, matrices.rows, count if matrices.matrix else 1
                layout = TensorMap(dtype, dims, (pitch, matrices.matrix or pitch), box, swizzle=swizzle)
            return TensorMapMaker(self.cuda, self.device, layout)

        lines = *(x.lines for x in inputs), c
        used = zip("abc" if config.store == "tma" else "ab", lines, config.boxes(), config.swizzles, kernel.dtypes,
                   config.windows)
        return {role: maker(*of) for role, *of in used}


class GroupedSteps(HopperSteps):
    """Steps of a grouped product, with a wgmma kernel; step_groups: bytes from the scales of one group's b to the next."""

    grouped = True

    def work(self, a, b, c):
        """(the Work, False): a is one matrix, b one for each group, and all products share one c."""
        (rows, K), (groups, _, N) = a[0], b[0]
        of_groups, *strides = b[1]
        return Work(Matrices(rows, K, *a[1]), Matrices(K, N, *strides, of_groups * (groups > 1)), Matrices(rows, N, *c[1]),
                    groups, ((0, 0, 0),)), False

    def orders(self, role, majors):
        """Of rows K is contiguous: a group begins at any of them, and TMA's boxes start on 16 bytes along a line."""
        return ("K",) if role == "a" else majors

    def configure(self, kernel, wanted):
        """The kernel that is given, grouped, else the one that is kept, else one that is chosen."""
        if kernel is None:
            suited = self.chosen(wanted)
        else:
            taken = kernel.taking(wanted.types, wanted.out, wanted.majors, wanted.scaled)
            suited = taken.variant(grouped=True, split=False)
        sizes = suited.options.turned(wanted.M, wanted.N)
        most = suited.options.tiles(*sizes, wanted.matrices) * wanted.matrices       # whatever the offsets say
        if most >= INT_LIMIT:
            raise SimlayoutError(f"{wanted.matrices} groups of up to {wanted.M} rows may have {most} tiles: the kernels "
                                 f"count up to {INT_LIMIT - 1}")
        return suited


class MmaSteps(Steps):
    """Steps with a kernel whose threads compute every address: one matrix at a time."""

    def build(self, a, b, c, kernel):
        """Adds the steps of c = a @ b; kernel: a Kernel."""
        if self.scales:
            raise SimlayoutError(f"{kernel.name} has no scales: use kernel=\"auto\" on a GPU of compute capability 9.0")
        kernel = kernel.taking(self.types, self.out, epilogue=str(self.finish.epilogue))
        work, exchanged = row_major(work_of(a, b, c), self.size_c, self.aligned["c"])
        orders = ("K",), ("K" if kernel.majors[1] == "K" else "MN",)
        inputs = [self.input(role, matrices, offsets, majors, work.count, tma=False) for role, matrices, offsets, majors in
                  zip("ba" if exchanged else "ab", (work.a, work.b.transposed), zip(*work.pieces), orders)]
        held = *inputs, self.output(work)
        pitches = [x.lines.row_pitch(self.size) // self.size for x in held]
        self.check_sizes(*work.sizes, *pitches)
        starts = {name: 0 if (x.copied or self.starts_aligned(x.role, x.offsets)) and x.matrices.matrix % ALIGNED == 0 else
                  self.size for name, x in zip("abc", held)}             # the size: of any element
        problem = Problem(*work.sizes, 1, *pitches, **starts, sms=self.sms)
        kernel = kernel.fitted(problem)
        launched, handle = kernel.launch_shape(problem), self.compiled(kernel)
        shape = Shape(launched.grid, (launched.block, 1, 1), launched.shared_bytes)
        for i in self.pieces(work, inputs, held[2]):
            for number in range(work.count):
                places = {name: x.at(i, number) for name, x in zip("abc", held)}
                self.steps.append(step_of(kernel, problem, handle, shape, places, None, kernel.name))
        self.kernel = kernel


def steps_for(kernel, cuda, device, types, out, aligned, overlap=True, scales=None, finish=None, use_kept=False,
              builder=HopperSteps):
    """(Steps, kernel): the builder for a kernel that a caller named, on a device.

    kernel: "auto", the name of a Kernel, a Kernel or a Hopper configuration; builder: of those for Hopper; the rest as of
    `Steps`. Raises SimlayoutError, DeviceError.
    """
    capability = cuda.capability(device)
    if not Kernel.needs.on(capability):
        raise DeviceError(f"GPU {device} has compute capability {capability[0]}.{capability[1]}; matmul needs 8.0 or newer "
                          "(cp.async)")
    if kernel == "auto":
        kernel = None if FEATURES["wgmma"].on(capability) else _kernel_of("mma_permuted")
    else:
        kernel = _kernel_of(kernel)
    if kernel and not kernel.needs.on(capability):
        raise DeviceError("kernels for Hopper need compute capability 9.0; "
                          f'GPU {device} has {capability[0]}.{capability[1]}: use kernel="auto"')
    builder = builder if kernel is None or kernel.stacks else MmaSteps
    return builder(cuda, device, types, out, aligned, overlap, scales, finish, use_kept), kernel


def _kernel_of(named):
    """The Kernel that a caller names. All kernels are loaded for that: a choice of one for Hopper does without."""
    from cuda_kernels.kernels import KERNELS, as_kernel

    if isinstance(named, str) and named not in KERNELS:
        raise SimlayoutError(f"kernel {named!r}: choose 'auto', {', '.join(map(repr, KERNELS))}")
    return as_kernel(named)
