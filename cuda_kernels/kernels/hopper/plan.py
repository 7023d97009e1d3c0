"""The plans of kernels whose operands TMA brings: what they do to shared memory, predicted and proved."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from cuda_kernels.kernels.hopper.accesses import EXCHANGE, emitted_function, predict, store_access, tiles_of
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.kernels.hopper.epilogue import EPILOGUES
from cuda_kernels.kernels.hopper.mma_tma_plan import make_plan
from cuda_kernels.kernels.hopper.parts import make_load
from cuda_kernels.kernels.hopper.proofs import prove_reads, prove_windows
from cuda_kernels.kernels.hopper.scales import column_scales, grains_of, scales_of_stage
from cuda_kernels.kernels.hopper.slices import owned_at_most, owners
from cuda_kernels.kernels.kernel import check_as_emitted
from simlayout.hardware.matrix.tma import TensorMap
from simlayout.hardware.matrix.wgmma import operand_wavefronts
from simlayout.hardware.tables.arch import LANES
from simlayout.kernel import CPU_SMS, AccessCount
from simlayout.plan import Prediction
from simlayout.proofs import prove_operand, prove_tile, verify
from simlayout.shown import Shown
from simlayout.wording import counted


def loads_of(major, size, parts, first, k, dtype="f16"):
    """[(coordinates, shared byte address)] of the boxes that `make_load`'s function moves, of all parts.

    The kernel's own code, with instructions that note their operands: size rows of A or columns of B from `first` on, and
    `depth_of` the dtype of K from k on, to address 0.

    >>> loads_of("K", 128, 2, 256, 64)
    [((64, 256, 0), 0), ((64, 320, 0), 8192)]
    >>> loads_of("MN", 128, 2, 256, 64)
    [((256, 64, 0), 0), ((320, 64, 0), 8192), ((256, 96, 0), 4096), ((320, 96, 0), 12288)]
    """
    moved = []

    def load(address, tensor_map, mbarrier, *coords):
        moved.append((tuple(int(c) for c in coords), int(address)))

    def load_multicast(address, tensor_map, mbarrier, ctas, *coords):
        load(address, tensor_map, mbarrier, *coords)

    tile = make_load(major, size, dtype, parts, load, load_multicast)
    for part in range(parts):
        tile(0, None, 0, first, k, 0, part, 0)
    return moved


@dataclass(frozen=True)
class TmaPlan(Shown):
    """What a Hopper configuration does to shared memory, in the words of a `simlayout.Plan`: what all of them share.

    >>> from cuda_kernels import KERNELS
    >>> print(KERNELS["wgmma_persistent"].plan)
    tile 128x256x64 by TMA and wgmma, 4 stages, 229440 bytes of shared memory per CTA
    proves: A, B: wgmma reads every element where the kernel's TMA loads put it; C is staged without conflicts
    """

    config: Hopper

    def __str__(self):
        rows, columns, depth = self.tile
        return (f"tile {rows}x{columns}x{depth} by TMA and {self.multiply}, {counted(self.config.stages, 'stage')}, "
                f"{self.config.shared_bytes} bytes of shared memory per CTA\nproves: {self.proves}")

    def __getstate__(self):
        return {"config": self.config}                   # what is kept of it has functions, which do not pickle

    @property
    def tile(self):
        """(rows, columns, depth) of the tile that a CTA, or a cluster, works on at a time."""
        config = self.config
        return config.cluster_m * config.tile_m, config.cluster_n * config.tile_n, config.depth

    @property
    def operands(self):
        """(major, rows or columns of the tile, CTAs that share the load) of A and of B."""
        config = self.config
        of_b = config.operands[1].rows
        return (config.a_major, config.tile_m, config.cluster_n), (config.b_major, of_b, config.cluster_m)

    def loaded(self, ctas, steps):
        """The count of the TMA loads of so many CTAs, each of so many K steps."""
        boxes = sum(len(loads_of(major, size, cluster, 0, 0, self.config.dtype)) // cluster
                    for major, size, cluster in self.operands)
        return AccessCount("load A, B", "cp.async.bulk.tensor", ctas * steps * boxes, 0, 0,
                          bytes=ctas * steps * self.config.stage_bytes)

    def tensors(self, first, k):
        """[(TensorMap of 8192 x 8192 matrices, loads)] of A and of B, of the tile that begins at row or column `first` and
        at k."""
        boxes = zip(self.operands, self.config.boxes())
        return [(TensorMap(self.config.dtype, (8192, 8192, 1), (16384, 16384), box, swizzle=128),
                 loads_of(major, size, cluster, first, k, self.config.dtype)) for (major, size, cluster), box in boxes]


class WgmmaPlan(TmaPlan):
    """The plan of a kernel whose operands wgmma reads."""

    multiply = "wgmma"

    @property
    def proves(self):
        """What `prove` proves, as a sentence."""
        of_c = "; C is staged without conflicts" if self.accesses else ""
        read = EPILOGUES[self.config.epilogue].reads
        if self.config.slices > 1:
            of_c += "; slices exchange their sums without conflicts"
        added = f"; each element of {', '.join(read)} is read where C's is stored" if read else ""
        return f"A, B: wgmma reads every element where the kernel's TMA loads put it{of_c}{added}"

    @property
    def accesses(self):
        """The accesses through emitted index functions."""
        return (store_access(self.config),) if self.config.staged_blocks else ()

    def predict(self, M, N, K, sms=CPU_SMS, sizes=(), matrices=1):
        """The Prediction of so many products; a K step's clocks are of wgmma, and of the wavefronts that read its operands.
        sizes: of a grouped configuration, the rows of each group. Where `split` cuts tiles along K, only what is loaded and
        multiplied is exact: their sums are added up, and stored, another way."""
        config, parts, sliced = self.config, 1, 0
        if not config.grouped:
            whole, parts = config.cut(M, N, K, matrices, sms)
            sliced = (config.tiles(M, N, matrices) - whole) * (config.slices > 1)
        totals = predict(config, M, N, K, matrices, sizes, sliced)
        steps, matrices = -(-K // config.depth), max(matrices, len(sizes))
        done = tiles_of(config, M, N, matrices, sizes, sliced)
        wgmmas, wavefronts = 4 * config.row_bands, operand_wavefronts(config.wgmma)[0]
        counts = [self.loaded(done.tiles, steps),
                  AccessCount("multiply", config.wgmma, 16 * done.multiplied * steps, *[totals.operand_wavefronts] * 2),
                  *self.scales(done, steps)]
        stored = [*self.lines_scales(done, config.sharing * sliced)]
        for access in self.accesses:
            stored += [AccessCount("stage C", access.instruction, totals.stores, *[totals.store_wavefronts] * 2),
                       self.stored(M * matrices, N, done)]
        if parts > 1 and not sliced:
            stored = [replace(count, exact=False) for count in stored]
        counts += *stored, *self.exchanged(config.sharing * sliced)
        return Prediction(tuple(counts), config.grid(M, N, K, matrices, sms), steps, wgmmas * wavefronts,
                          wgmmas * config.tile_n / 2, self.multiply)

    def exchanged(self, tiles):
        """The counts of the sums of so many tiles that slices send one another, and of what they add up."""
        config, groups = self.config, self.config.tile_n // 8
        if not tiles:
            return ()
        warps = 4 * config.consumers * tiles
        sent, own = warps * config.slices * groups, len({owner for owner, _ in owners(groups, config.slices)})
        added = warps * own * config.slices * owned_at_most(config.tile_n, config.slices)
        (per_load,) = set(EXCHANGE.analyze().wavefronts.tolist())
        return (AccessCount("send sums", "st.async.b128", sent, 0, 0, bytes=512 * sent),
                AccessCount("add up sums", "ld.shared.b128", added, *[added * per_load] * 2))

    def stored(self, M, N, done):
        """The count of the copies of C to global memory, of so many Tiles: whole boxes, or lines as far as they lie in C,
        and these at most, because a tile's part of a line may be empty."""
        config = self.config
        if config.store == "tma":
            return AccessCount("store C", "cp.async.bulk.tensor.global", done.boxes, 0, 0,
                               bytes=128 * config.box_n * done.boxes)
        return AccessCount("store C", "cp.async.bulk.global", M * config.tile_grid(M, N)[1] * config.cluster_n, 0, 0,
                           exact=False, bytes=2 * M * N)

    def scales(self, done, steps):
        """The counts of the scales of so many Tiles and stages of each, where each stage has its own: every warp of the
        consumers that multiply it loads those of its rows and columns, neighbouring words, one wavefront each; a warp copies
        them, with wavefronts that depend on where they lie in global memory: at least as many."""
        config = self.config
        if not grains_of(config.scaled):
            return ()
        copies = done.tiles * steps * -(-scales_of_stage(config) // LANES)
        loads = done.multiplied // config.bands * steps * 4 * (2 * config.bands + column_scales(config))
        return (AccessCount("copy scales", "cp.async.ca.4", copies, copies, copies, exact=False),
                AccessCount("load scales", "ld.shared.b32", loads, loads, loads))

    def lines_scales(self, done, sliced):
        """The counts of the scales of rows and columns of so many Tiles: each warp of a consumer copies 32 at a time, with
        at least a wavefront each, and loads those of two rows for a box, for lines, or for 8 columns that it stores
        directly, and those of two columns for every 8; b64 takes a wavefront per half of a warp. sliced: of these tiles
        those that are cut into slices: each slice copies the scales, and loads those of the columns that it stores."""
        config = self.config
        if not config.lines_scales:
            return ()
        copied = done.tiles + (config.slices - 1) * sliced
        copies = copied * config.tile_consumers * -(-config.lines_scales // LANES)
        groups = config.tile_n // 8
        begun = {"tma": len(config.box_starts), "sectors": 1, "direct": groups}[config.store]
        warps, added = 4 * done.stored, 4 * config.row_bands * sliced * groups
        of_rows, of_columns = 2 * (warps * begun + added), warps * max(2 * config.staged_blocks, groups) + added
        return (AccessCount("copy scales", "cp.async.ca.4", copies, copies, copies, exact=False),
                AccessCount("load scales of rows", "ld.shared.b32", of_rows, of_rows, of_rows),
                AccessCount("load scales of columns", "ld.shared.b64", of_columns, 2 * of_columns, 2 * of_columns))

    def prove(self):
        """Certificates by name: that wgmma reads A and B where the kernel's loads put them; what is staged of C.

        Raises VerificationError.
        """
        config, first, k, certificates = self.config, 384, 128, {}
        parts = config.row_bands, 1
        for name, (tensor, loads), tile, count in zip("AB", self.tensors(first, k), config.operands, parts):
            rows, major = tile.rows if name == "A" else config.tile_n, tile.major
            for part in range(count):                    # bands of 64 rows of A; all columns of B
                steps = [tile.descriptor(tile.bytes * part).encode() + (start >> 4) for start in tile.starts]
                certificates[name] = prove_operand(tensor, loads, steps, rows, (first + rows * part, k), major)
        for access in self.accesses:
            certificates[access.name] = verify(access)
            _as_emitted(access, "wgmma")
        if config.slices > 1:
            certificates[EXCHANGE.name] = verify(EXCHANGE)
            _as_emitted(EXCHANGE, "wgmma")
        if EPILOGUES[config.epilogue].reads:
            certificates["epilogue"] = prove_reads(config)
        if any(config.windows):
            certificates["window"] = prove_windows()
        return certificates


class MmaPlan(TmaPlan):
    """The plan of a kernel whose operands ldmatrix reads where TMA puts them."""

    multiply = "mma.sync"
    proves = "A, B: TMA puts every element where ldmatrix finds it; all accesses in bounds, aligned, without conflicts"

    @cached_property
    def _of_threads(self):
        """The Plan of what threads access."""
        return make_plan(self.config.stages, self.config.shared_bytes)

    @property
    def accesses(self):
        """The accesses through emitted index functions."""
        return self._of_threads.accesses

    def predict(self, M, N, K, sms=CPU_SMS, matrices=1):
        """The Prediction of so many products; CTAs of a cluster beyond the matrix compute as well. The shared memory of a K
        step is also written by TMA, 128 bytes a clock."""
        rows, cols = self.config.tile_grid(M, N)
        prediction = self._of_threads.predict(matrices * rows * self.tile[0], cols * self.tile[1], K)
        counts = self.loaded(prediction.ctas, prediction.steps), *prediction.counts
        return Prediction(counts, prediction.ctas, prediction.steps,
                          prediction.shared_clocks + self.config.stage_bytes // 128, prediction.mma_clocks)

    def prove(self):
        """Certificates by name: that the layout has A and B where the kernel's loads put them; those of the accesses.

        Raises VerificationError.
        """
        first, k, certificates = 384, 128, {}
        tile, (rows_a, rows_b, _) = self._of_threads.access("load A").tile, self._of_threads.tile
        for name, (tensor, loads), below, rows in zip("AB", self.tensors(first, k), (0, rows_a), (rows_a, rows_b)):
            at = 2 * tile(below + np.arange(rows)[:, None], np.arange(self.config.depth)[None], 0)
            loads = [(coords, address + 2 * self.config.depth * below) for coords, address in loads]
            certificates[name] = prove_tile(tensor, loads, at, (first, k))
        certificates |= self._of_threads.verify()
        for access in self.accesses:
            _as_emitted(access, "mma_tma")
        return certificates


def _as_emitted(access, module):
    """Raises VerificationError where the emitted function that the kernel calls is not the access's."""
    check_as_emitted(access, emitted_function(access, module), f"cuda_kernels.emitted.{module}")


PLANS = {"wgmma_persistent": WgmmaPlan, "wgmma_tma": WgmmaPlan, "mma_tma": MmaPlan}
"""The plan of each body."""


def plan_of(config):
    """The plan of a Hopper configuration."""
    return PLANS[config.body](config)
