"""What L2 delivers to SMs that load the same rows: `python -m cuda_kernels.lab.neighbours [--json FILE]`.

One CTA per SM copies boxes of 128 rows of 64 halves through TMA into a ring of stages, and does nothing else. All rows
are in L2; the cases differ in which CTAs read the same rows: neighbours, launched one after another, or others. Then it
prints on which SM each CTA runs, alone and in clusters. Needs torch and a GPU of compute capability 9.0.
"""

import statistics
from dataclasses import dataclass
from functools import partial

from cuda_kernels.bench.command import ended_by, recording_parser_of, where_and_when
from cuda_kernels.intrinsics import (
    aligned_shared,
    ctaid_x,
    fence_mbarrier_init,
    mbarrier_arrive_expect_tx,
    mbarrier_init,
    mbarrier_wait,
    s32,
    smid,
    st_global_b32,
    tid_x,
    tma_load_3d,
    u32,
    u64,
)
from cuda_kernels.kernels.hopper.order import quotient
from simlayout.files import write_record

BOX_ROWS, BOXES, STAGES = 128, 3, 4
"""Rows of a box, boxes of a stage, stages of the ring: 48 KB per stage, 192 KB under way per SM."""

BOX_BYTES = 128 * BOX_ROWS
STAGE_BYTES = BOXES * BOX_BYTES
STREAM_ROWS = STAGES * BOXES * BOX_ROWS
"""Rows that a CTA reads again and again."""

SHARED_BYTES = STAGES * (STAGE_BYTES + 8)
SIGNATURE = "u64 u64 s32 s32 s32"
STEPS, TURNS = 1000, 5
CLUSTER_SIZES = 1, 2, 4, 8


@dataclass(frozen=True)
class Sharing:
    """Who reads the same rows: CTA c reads stream number c // together % streams; streams: 0 is as many as there are SMs."""

    name: str
    together: int = 1
    streams: int = 0


CASES = (Sharing("all different"), *(Sharing(f"{n} neighbours", n) for n in (2, 4, 8, 16, 33, 66)),
         Sharing("all the same", 132), *(Sharing(f"CTAs {n} apart", 1, n) for n in (66, 33, 16, 8, 4, 2)))


def loads(rows, out, steps, together, streams):
    """The kernel: rows: a tensor map of f16 [rows, 64]; out: s32 [CTAs], on which SM each ran. One thread does
    everything."""
    if tid_x() == 0:
        smem, cta = aligned_shared(), ctaid_x()
        full = s32(smem + STAGES * STAGE_BYTES)
        for i in range(STAGES):
            mbarrier_init(u32(full + 8 * i), u32(1))
        fence_mbarrier_init()
        st_global_b32(out + u64(4) * u64(cta), smid())
        group = quotient(cta, together)
        first = s32(STREAM_ROWS * (group - streams * quotient(group, streams)))
        stage, parity = s32(0), s32(1)
        for step in range(steps + STAGES):
            at = u32(full + 8 * stage)
            if step >= STAGES:
                mbarrier_wait(at, u32(parity))
            if step < steps:
                mbarrier_arrive_expect_tx(at, u32(STAGE_BYTES))
                for i in range(BOXES):
                    tma_load_3d(u32(smem + STAGE_BYTES * stage + BOX_BYTES * i), rows, at, s32(0),
                                s32(first + BOX_ROWS * (BOXES * stage + i)), s32(0))
            stage = s32(stage + 1)
            if stage == STAGES:
                stage, parity = s32(0), s32(1 - parity)


def tensor_map(rows):
    """The TensorMap of f16 [rows, 64] in boxes."""
    from simlayout.hardware.matrix.tma import TensorMap

    return TensorMap("f16", (64, rows, 1), (128, 128 * rows), (64, BOX_ROWS, 1), swizzle=128)


def compiled():
    """(name of the entry, machine code) of `loads` for sm_90a; no GPU needed."""
    from cuda_kernels.build.assembler import program
    from cuda_kernels.build.compile import bound_kernel, text_of
    from cuda_kernels.build.entry import Entry

    return program(str(Entry.of(text_of(bound_kernel(loads), SIGNATURE, (32, 1))).with_values(1)))


def measure(library, cases=CASES):
    """[(Sharing, bytes per nanosecond that all SMs took together)], and {CTAs of a cluster: on which SM each CTA ran}."""
    from cuda_kernels.run import driver

    cuda, torch = driver.cuda(), library.torch
    sms = cuda.multiprocessors(0)
    rows = library.normal((sms * STREAM_ROWS, 64), "f16")
    places = torch.zeros(sms, dtype=torch.int32, device="cuda")
    kernel = cuda.kernel(*compiled(), SHARED_BYTES, 0, "loads")
    maker = driver.TensorMapMaker(cuda, 0, tensor_map(len(rows)))

    def turn(case, ctas=sms, cluster=1):
        numbers = places.data_ptr(), STEPS, case.together, case.streams or sms
        parameters = driver.Parameters([(maker, rows.data_ptr())], SIGNATURE.removeprefix("u64 "), numbers)
        shape = driver.Shape((ctas, 1, 1), (32, 1, 1), SHARED_BYTES, cluster)
        return partial(driver.Launch(cuda, 0, kernel, shape, parameters, "loads"), torch.cuda.current_stream().cuda_stream)

    rates, ran = [], {}
    for case in cases:
        launch = turn(case)
        times = [library.elapsed(launch) for _ in range(TURNS + 1)][1:]
        rates.append((case, sms * STEPS * STAGE_BYTES / statistics.median(times) / 1e9))
    for size in CLUSTER_SIZES:
        fit = cuda.clusters(0, kernel, driver.Shape((size, 1, 1), (32, 1, 1), SHARED_BYTES, size)) if size > 1 else sms
        ctas = size * fit
        library.elapsed(turn(cases[0], ctas, size))
        ran[size] = places.tolist()[:ctas]
    return rates, ran


def main(arguments=None):
    """Prints a line per case, and writes them where asked."""
    from cuda_kernels.bench.libraries import torch_library

    parser = recording_parser_of("cuda_kernels.lab.neighbours", __doc__)
    options = parser.parse_args(arguments)
    library = torch_library("the arrays are torch's")
    rates, places = measure(library)
    for case, rate in rates:
        print(f"{case.name:<20}{rate / 1e3:>7.2f} TB/s")
    for size, ran in places.items():
        print(f"CTA 0, 1, ... in clusters of {size} on SM {', '.join(map(str, ran))}")
    if options.json:
        head = {**where_and_when("cuda_kernels.lab.neighbours", arguments), "library": library.version, "places": places}
        write_record(options.json, head, rows=[{"case": case.name, "bytes per ns": round(rate)} for case, rate in rates])
    return 0


if __name__ == "__main__":
    ended_by(main)
