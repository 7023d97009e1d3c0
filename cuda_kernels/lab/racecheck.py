"""compute-sanitizer's racecheck beside the CPU machine: which kernels each says to have races in shared memory.

    python -m cuda_kernels.lab.racecheck [--cases NAME ...] [--sanitizer COMMAND] [--json FILE]

Runs products of Hopper's kernels, and the small kernels of `rings`, each in a process of its own under compute-sanitizer
(which must be on the PATH, or in COMMAND with its options). Of each it prints what the machine finds, and each race that
racecheck reports: the instructions of the machine code, and how many hazards they have. Exit status 1 if racecheck did not
run to its end, or what is in order made other bits than the CPU machine; what racecheck reports is for a reader to judge.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from cuda_kernels.bench.command import ended_by, recording_parser_of, where_and_when
from cuda_kernels.build import cache
from cuda_kernels.build.ahead import compile_ahead
from cuda_kernels.build.assembler import program
from cuda_kernels.build.compile import bound_kernel, text_of
from cuda_kernels.build.program import Program
from cuda_kernels.conformance.gemms.bits import digest
from cuda_kernels.conformance.gemms.sass import disassemble
from cuda_kernels.kernels.hopper.config import Hopper
from cuda_kernels.kernels.hopper.kernel import kernel_of
from cuda_kernels.kernels.hopper.scales import grains_of
from cuda_kernels.lab import rings
from cuda_kernels.matmul.tune.entrants import normal
from cuda_kernels.matmul.tune.groups import sizes_of
from cuda_kernels.run.runner import run
from simlayout.errors import DeviceError
from simlayout.files import write_record
from simlayout.hardware.tables.arch import DEFAULT_TARGET
from simlayout.machine.python.run import run as run_on_machine

SMALL: dict[str, Any] = dict(tile_m=64, tile_n=64, stages=5)
BLOCKS: dict[str, Any] = dict(dtype="e4m3", out="bf16", scaled="1x128")
GROUPED: dict[str, Any] = dict(tile_m=64, tile_n=64, stages=3, out="bf16", grouped=True)
SHAPE, SHORT = (130, 72, 400), (130, 72, 100)

PRODUCTS = {
    "scales of 1x128": (Hopper(**SMALL, **BLOCKS), SHAPE),
    "scales of 1x128, no stage used twice": (Hopper(**SMALL, **BLOCKS), SHORT),
    "scales of 1x128, cluster_m=2": (Hopper(**SMALL, **BLOCKS, cluster_m=2), SHAPE),
    "scales of 1x128, cluster_n=2": (Hopper(**SMALL, **BLOCKS, cluster_n=2), SHAPE),
    "two bands, scales of 1x128": (Hopper(**SMALL | {"tile_m": 128}, **BLOCKS, bands=2), SHAPE),
    "scales of lines": (Hopper(**SMALL, **BLOCKS | {"scaled": "lines"}), SHAPE),
    "groups, e4m3, scales of lines": (Hopper(**GROUPED, dtype="e4m3", scaled="lines"), SHAPE),
    "groups, bf16": (Hopper(**GROUPED, dtype="bf16"), SHAPE),
    "two consumers that promote": (Hopper(**SMALL | {"tile_m": 128}, **BLOCKS), SHAPE),
    "two consumers with a tile each": (Hopper(**SMALL, dtype="bf16", out="bf16", pingpong=True), SHAPE),
    "bf16, cluster_m=2": (Hopper(**SMALL, dtype="bf16", out="bf16", cluster_m=2), SHAPE),
    "bf16, cluster_n=2": (Hopper(**SMALL, dtype="bf16", out="bf16", cluster_n=2), SHAPE),
}
"""(configuration, (M, N, K)) by name."""

CASES = (*PRODUCTS, *rings.RINGS, *rings.TWINS)
"""The names of all kernels."""

SMS, GROUPS = 2, 3
"""Of the GPU so many SMs are used, so that each has several tiles; groups of rows."""


@dataclass(frozen=True)
class Access:
    """One side of a race. kind: "Read" or "Write"; offset: of the instruction in the machine code, bytes; opcode: of SASS,
    "" where it is not known; hazards: with the first side, 0 of that itself."""

    kind: str
    offset: int
    opcode: str = ""
    hazards: int = 0


@dataclass(frozen=True)
class Race:
    """What racecheck reports at once. level: "Error" or "Warning"; first: an Access; others: those that race with it."""

    level: str
    first: Access
    others: tuple


_RACE = re.compile(r"= (Error|Warning): Race reported between (Read|Write) access at .*\+0x([0-9a-f]+)")
_OTHER = re.compile(r"= +and (Read|Write) access at .*\+0x([0-9a-f]+).*\[(\d+) hazards?\]")
_DONE = re.compile(r"RACECHECK SUMMARY: (\d+) hazards? displayed")


def parse(text):
    """What racecheck printed -> its Races; DeviceError where it did not come to its summary.

    >>> parse('''========= Error: Race reported between Write access at ring(int)+0x560
    ... =========     and Read access at ring(int)+0x430 [64 hazards]
    ... ========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)''')
    (Race(level='Error', first=Access(kind='Write', offset=1376, opcode='', hazards=0), \
others=(Access(kind='Read', offset=1072, opcode='', hazards=64),)),)
    """
    races, done = [], False
    for line in text.splitlines():
        done = done or _DONE.search(line)
        if at := _RACE.search(line):
            races.append(Race(at[1], Access(at[2], int(at[3], 16)), ()))
        elif (at := _OTHER.search(line)) and races:
            races[-1] = replace(races[-1], others=(*races[-1].others, Access(at[1], int(at[2], 16), "", int(at[3]))))
    if not done:
        raise DeviceError("racecheck came to no summary: " + " | ".join(text.strip().splitlines()[-3:] or ["no output"]))
    return tuple(races)


def with_opcodes(races, code):
    """Races whose Accesses have their opcodes. code: the kernel's machine code."""
    opcodes = {one.offset: one.opcode for one in disassemble(code)}

    def named(access):
        return replace(access, opcode=opcodes.get(access.offset, ""))

    return tuple(replace(race, first=named(race.first), others=tuple(map(named, race.others))) for race in races)


def operands(config, shape):
    """(kernel, what `run` takes for it), the same on every machine: normal numbers, scales from 0.5 on."""
    rng, (M, N, K), kernel = np.random.default_rng(0), shape, kernel_of(config)
    of_a, of_b = kernel.dtypes[:2]

    def scales(*shape):
        return rng.random(shape, np.float32) + np.float32(0.5)

    deep, (rows, columns) = -(-K // 128), grains_of(config.scaled) or (1, 1)
    if config.grouped:
        a, b = normal(of_a, M * K, rng).reshape(M, K), normal(of_b, GROUPS * N * K, rng).reshape(GROUPS, N, K).swapaxes(1, 2)
        ends = np.cumsum(sizes_of(M, GROUPS), dtype=np.int32)
        return kernel, (a, b, ends, *((scales(M, 1), scales(GROUPS, N)) if config.scaled else ()))
    a, b = normal(of_a, M * K, rng).reshape(M, K), normal(of_b, N * K, rng).reshape(N, K).T
    by_blocks = (scales(-(-M // rows), deep), scales(deep, -(-N // columns)))
    return kernel, (a, b, *{"": (), "lines": (scales(M, 1), scales(1, N))}.get(config.scaled, by_blocks))


def found_by_machine(name):
    """(the kinds of hazards that the CPU machine finds in a kernel, the digest of what it makes when it is in order)."""
    if name in PRODUCTS:
        kernel, given = operands(*PRODUCTS[name])
        done = run(kernel, *given, device="cpu", sms=SMS, hazards="report")
        return sorted({hazard.kind for hazard in done.trace.hazards}), digest(done.c)
    way, source, out = ring_arrays(name)
    trace = run_on_machine(way.body, 1, rings.THREADS, source, out, rings.STEPS, shared_bytes=rings.SHARED, hazards="report")
    return sorted({hazard.kind for hazard in trace.hazards}), digest(rings.expected(way, source))


def ring_arrays(name):
    """(the Ring or Groups of a name, its source, zeros for what it makes)."""
    source = np.random.default_rng(0).random((rings.STEPS, rings.THREADS), np.float32)
    return (rings.RINGS | rings.TWINS)[name], source, np.zeros(rings.THREADS, np.float32)


def compiled(name, version):
    """(entry, machine code) of a kernel. version: of the driver."""
    if name in PRODUCTS:
        return cache.compiled(program_of(name), version)
    return program(text_of(bound_kernel(ring_arrays(name)[0].body), rings.SIGNATURE, (rings.THREADS, 1)))


def program_of(name):
    """The Program of a product."""
    return Program(kernel_of(PRODUCTS[name][0]).compiled_as, DEFAULT_TARGET)


def launch(name):
    """What a kernel makes on the GPU: the process that is watched."""
    if name in PRODUCTS:
        kernel, given = operands(*PRODUCTS[name])
        return run(kernel, *given, device="gpu", sms=SMS).c
    from numba import cuda

    from cuda_kernels.run import driver

    _, *arrays = ring_arrays(name)
    gpu, device, held = driver.cuda(), cuda.get_current_device().id, [cuda.to_device(x) for x in arrays]
    handle = gpu.kernel(*compiled(name, gpu.version), rings.SHARED, device, name)
    addresses = [x.__cuda_array_interface__["data"][0] for x in held]
    parameters = driver.Parameters((), rings.SIGNATURE, (*addresses, rings.STEPS))
    driver.Launch(gpu, device, handle, driver.Shape((1, 1, 1), (rings.THREADS, 1, 1), rings.SHARED), parameters, name)(0)
    cuda.synchronize()
    return held[1].copy_to_host()


def watched(name, sanitizer):
    """What racecheck prints of one kernel. sanitizer: the command, its words."""
    own = [sys.executable, "-m", "cuda_kernels.lab.racecheck", "--launch", name]
    done = subprocess.run([*sanitizer, "--tool", "racecheck", *own], capture_output=True, text=True)
    return done.stdout + done.stderr


def version_of(sanitizer):
    """What compute-sanitizer says of its version, as text; DeviceError where it is not there."""
    try:
        text = subprocess.run([*sanitizer, "--version"], capture_output=True, text=True).stdout
    except OSError as error:
        raise DeviceError(f"{sanitizer[0]}: {error.strerror}; it comes with the CUDA toolkit") from None
    found = re.search(r"Version (\S+)", text)
    return found[1] if found else "of unknown version"


def described(race):
    """A Race as a line."""
    first, *others = (f"{of.kind.lower()} {of.opcode} +{of.offset:#x}" for of in (race.first, *race.others))
    return f"  {race.level.lower()}: {first} and " + ", ".join(
        f"{text} ({of.hazards} hazards)" for text, of in zip(others, race.others))


def main(arguments=None):
    """Prints what both say of every kernel; exit status 1 if one did not run."""
    parser = recording_parser_of("cuda_kernels.lab.racecheck", __doc__)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=CASES, metavar="NAME", help="default: all")
    parser.add_argument("--sanitizer", default="compute-sanitizer", help="the command, with options (default: %(default)s)")
    parser.add_argument("--launch", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.launch:
        print("made", digest(launch(options.launch)))
        return 0
    from cuda_kernels.run import driver

    words, rows, failed = shlex.split(options.sanitizer), [], 0
    version, driver_version = version_of(words), driver.cuda().version
    compile_ahead([program_of(name) for name in options.cases if name in PRODUCTS], driver_version)
    with ThreadPoolExecutor(os.cpu_count()) as pool:     # the machine runs meanwhile
        texts = {name: pool.submit(watched, name, words) for name in options.cases}
        known = {name: found_by_machine(name) for name in options.cases}
    for name, (kinds, wanted) in known.items():
        text = texts[name].result()
        try:
            races = with_opcodes(parse(text), compiled(name, driver_version)[1])
        except DeviceError as error:
            print(f"{name}: {error}")
            failed += 1
            continue
        right = f"made {wanted}" in text
        failed += not right and name not in rings.TWINS
        print(f"{name}: the machine: {', '.join(kinds) or 'no hazard'}; racecheck: {len(races) or 'no'} races"
              + ("" if right else "; OTHER BITS"), *map(described, races), sep="\n")
        rows.append({"case": name, "machine": kinds, "right": right, "races": [asdict(race) for race in races]})
    if options.json:
        head = {**where_and_when("cuda_kernels.lab.racecheck", arguments), "sanitizer": version}
        write_record(options.json, head, rows=rows)
    return 1 if failed else 0


if __name__ == "__main__":
    ended_by(main)
