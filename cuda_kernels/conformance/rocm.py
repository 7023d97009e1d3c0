"""Counts the LDS bank conflicts of an AMD GPU, for `simlayout conform --check`: one file, which needs ROCm and Python alone.

    simlayout conform --rocm conform_lds.py           (writes this file)
    python3 conform_lds.py record.json                (on the machine with the GPU; hipcc and rocprofv3 on the PATH)
    simlayout conform --check record.json             (compares the record with the model; anywhere)

Each case is one wave that executes one instruction REPEATS times with the same addresses, and nothing else in LDS:
strides, single lanes that meet, rows of a tile, lanes that XOR, chance. rocprofv3 reads SQ_LDS_BANK_CONFLICT (of RDNA
SQC_LDS_BANK_CONFLICT) of every launch. Where that counter is not to be had (on gfx1201 it always reads 0), this says so.
"""

import argparse
import csv
import datetime
import json
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

REPEATS = 16
LDS_BYTES = 65536

INSTRUCTIONS = (
    # as simlayout names it, as RDNA writes it, bytes
    ("ds_read_u8", "ds_load_u8", 1), ("ds_read_u16", "ds_load_u16", 2), ("ds_read_b32", "ds_load_b32", 4),
    ("ds_read_b64", "ds_load_b64", 8), ("ds_read_b128", "ds_load_b128", 16),
    ("ds_write_b8", "ds_store_b8", 1), ("ds_write_b16", "ds_store_b16", 2), ("ds_write_b32", "ds_store_b32", 4),
    ("ds_write_b64", "ds_store_b64", 8), ("ds_write_b128", "ds_store_b128", 16),
    ("ds_read_b96", "ds_load_b96", 16),
    *((f"ds_read_b64_tr_b{bits}", f"ds_load_b64_tr_b{bits}", 8) for bits in (16, 8, 4)),
)
"""The bytes are those of which addresses are multiples. Of the last four only some chips have a rule: `instructions`."""

ONLY = {"ds_read_b96": ("gfx950", "gfx12"), **{f"ds_read_b64_tr_b{bits}": ("gfx950",) for bits in (16, 8, 4)}}
"""Instruction -> the chips that have a rule for it, by how their names begin. Every chip has one for the others."""

TYPES = {"b64": ("u2", "value[0] ^ value[1]"), "b96": ("u3", "value[0] ^ value[2]"), "b128": ("u4", "value[0] ^ value[3]")}
"""What holds the value, and what is kept of it, of more than 4 bytes."""

KERNEL = """
extern "C" __global__ void __launch_bounds__(64)
lds_case_{name}(const unsigned *addresses, const unsigned *active, unsigned *out) {{
    extern __shared__ unsigned char lds[];
    const unsigned base = (unsigned)(size_t)(__attribute__((address_space(3))) unsigned char *)lds;
    const unsigned address = base + addresses[threadIdx.x];
    {type} value = {{}};
    if (active[threadIdx.x]) {{
#pragma unroll
        for (int i = 0; i < {repeats}; ++i)
            asm volatile("{asm}\\n{wait}" {operands});
    }}
    out[2 * threadIdx.x] = base;
    out[2 * threadIdx.x + 1] = {kept};
}}
"""

PROGRAM = """
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstring>
#include <vector>
typedef unsigned u2 __attribute__((ext_vector_type(2)));
typedef unsigned u3 __attribute__((ext_vector_type(3)));
typedef unsigned u4 __attribute__((ext_vector_type(4)));
{kernels}
typedef void (*Kernel)(const unsigned *, const unsigned *, unsigned *);
static const Kernel kernels[] = {{{names}}};
#define TRY(call) do {{ hipError_t e = (call); if (e != hipSuccess) {{ std::fprintf(stderr, "%s: %s\\n", #call, \\
    hipGetErrorString(e)); return 1; }} }} while (0)

int main(int count, char **words) {{
    if (count < 2) {{
        hipDeviceProp_t p;
        int driver = 0, runtime = 0;
        TRY(hipGetDeviceProperties(&p, 0));
        TRY(hipDriverGetVersion(&driver));
        TRY(hipRuntimeGetVersion(&runtime));
        std::printf("%s\\n%s\\n%d\\n%d\\n%d\\n", p.gcnArchName, p.name, p.warpSize, driver, runtime);
        return 0;
    }}
    std::FILE *file = std::fopen(words[1], "rb");
    if (!file) return 1;
    unsigned *addresses, *active, *out, head, words_of_case[128];
    TRY(hipMalloc(&addresses, 256));
    TRY(hipMalloc(&active, 256));
    TRY(hipMalloc(&out, 512));
    while (std::fread(&head, 4, 1, file) == 1 && std::fread(words_of_case, 4, 128, file) == 128) {{
        unsigned back[2];
        TRY(hipMemcpy(addresses, words_of_case, 256, hipMemcpyHostToDevice));
        TRY(hipMemcpy(active, words_of_case + 64, 256, hipMemcpyHostToDevice));
        kernels[head & 255]<<<1, head >> 8, {lds_bytes}>>>(addresses, active, out);
        TRY(hipGetLastError());
        TRY(hipDeviceSynchronize());
        TRY(hipMemcpy(back, out, 8, hipMemcpyDeviceToHost));
        if (back[0] % 256) {{ std::fprintf(stderr, "LDS begins at byte %u\\n", back[0]); return 1; }}
    }}
    return 0;
}}
"""


def instructions(arch):
    """The INSTRUCTIONS that are counted on an architecture."""
    return tuple(row for row in INSTRUCTIONS if arch.startswith(ONLY.get(row[0], "gfx")))


def source(arch):
    """The HIP C++ program for an architecture."""
    rdna = arch.startswith(("gfx11", "gfx12"))
    wait = "s_wait_dscnt 0x0" if arch.startswith("gfx12") else "s_waitcnt lgkmcnt(0)"
    kernels = []
    for name, of_rdna, _ in instructions(arch):
        asm = of_rdna if rdna else name
        kind, kept = TYPES.get(name.split("_")[2], ("unsigned", "value"))
        read = "read" in name
        kernels.append(KERNEL.format(
            name=name, type=kind, repeats=REPEATS, wait=wait, asm=f"{asm} %0, %1",
            operands=': "+v"(value) : "v"(address) : "memory"' if read else ': : "v"(address), "v"(value) : "memory"',
            kept=kept))
    names = ", ".join(f"lds_case_{name}" for name, _, _ in instructions(arch))
    return PROGRAM.format(kernels="".join(kernels), names=names, lds_bytes=LDS_BYTES)


def cases(size, lanes, seed):
    """[(label, addresses, active)] for an instruction of `size` bytes: lists of `lanes` ints, and of bools."""
    dice, every, found = random.Random(f"{seed} {size} {lanes}"), range(lanes), []
    units = LDS_BYTES // size

    def add(label, words, active=None):
        found.append((label, [size * (word % units) for word in words], [True] * lanes if active is None else active))

    for stride in (0, 1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 64):
        add(f"stride {stride}", [stride * lane for lane in every])
    for distance in (128, 256):
        for lane in range(1, lanes):
            add(f"lanes 0 and {lane}, {distance} bytes apart", [distance // size * (i == lane) for i in every],
                [i in (0, lane) for i in every])
    for _ in range(60):
        first, second = dice.sample(every, 2)
        add(f"lanes {first} and {second}, 256 bytes apart", [256 // size * (i == second) for i in every],
            [i in (first, second) for i in every])
    for high in (8, 16, 32):
        for row_bytes in (64, 128, 144, 256, 272):
            for swizzle in (1, 8, 16):
                add(f"{high} rows of {row_bytes} bytes, chunks xor row mod {swizzle}",
                    [i % high * row_bytes // size + (i // high ^ i % high % swizzle) for i in every])
    for _ in range(60):
        columns = [dice.randrange(256) for _ in range(6)]
        add("lanes that XOR", [xor(columns[bit] for bit in range(6) if i >> bit & 1) for i in every])
    for _ in range(60):
        span = dice.choice((2, 8, 32, 64, 256, 1024))
        add("chance", [dice.randrange(span) for _ in every], [dice.random() < 0.8 for _ in every])
    return found


def by_all(found):
    """The cases for an instruction that needs every lane: one that was idle reads what the first active lane does, which is
    one access with it, or alone in its phase."""
    whole = []
    for label, addresses, active in found:
        first = addresses[active.index(True)] if any(active) else 0
        whole.append((label, [a if on else first for a, on in zip(addresses, active)], [True] * len(active)))
    return whole


def cases_of(name, size, lanes, seed):
    """`cases` for an instruction by its name."""
    found = cases(size, lanes, seed)
    return by_all(found) if "_tr_" in name else found


def xor(numbers):
    """All of them XORed."""
    total = 0
    for number in numbers:
        total ^= number
    return total


def packed(number, lanes, addresses, active):
    """A case as the program reads it."""
    rest = [0] * (64 - lanes)
    return struct.pack("<129I", lanes << 8 | number, *addresses, *rest, *map(int, active), *rest)


def counted(folder):
    """[(instruction, {counter: value})] of the launches of our kernels, in their order, from rocprofv3's CSV files."""
    launches = {}
    for path in sorted(Path(folder).rglob("*counter_collection.csv")):
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                if name := re.match(r"lds_case_(ds_[a-z]+_[a-z0-9]+)", row["Kernel_Name"]):
                    _, values = launches.setdefault(int(row["Dispatch_Id"]), (name[1], {}))
                    values[row["Counter_Name"]] = values.get(row["Counter_Name"], 0.0) + float(row["Counter_Value"])
    return [launches[key] for key in sorted(launches)]


def run(words, **more):
    """What a command prints; ends with its complaint where it fails."""
    done = subprocess.run(words, capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def main():
    """Compiles, runs, reads the counters, and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("record", help="the JSON file to write")
    parser.add_argument("--seed", type=int, default=0, help="of the cases by chance (default: 0)")
    options = parser.parse_args()
    for tool in ("hipcc", "rocprofv3", "rocm_agent_enumerator"):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is not on the PATH: install ROCm, and add its bin folder")
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), options)


def write(folder, options):
    """`main` in a folder for its files."""
    targets = [word for word in run(["rocm_agent_enumerator"]).split() if word != "gfx000"]
    if not targets:
        sys.exit("rocm_agent_enumerator names no GPU")
    target = targets[0]
    (folder / "lds.hip").write_text(source(target))
    program = str(folder / "lds")
    run(["hipcc", "-O2", f"--offload-arch={target}", "-o", program, str(folder / "lds.hip")])
    arch, device, lanes, driver, runtime = run([program]).splitlines()[:5]
    arch, lanes = arch.split(":")[0], int(lanes)
    of_instructions = [(name, cases_of(name, size, lanes, options.seed)) for name, _, size in instructions(arch)]
    data = b"".join(packed(number, lanes, addresses, active)
                    for number, (_, of_one) in enumerate(of_instructions) for _, addresses, active in of_one)
    (folder / "cases").write_bytes(data)
    counter = "SQC_LDS_BANK_CONFLICT" if arch.startswith(("gfx10", "gfx11", "gfx12")) else "SQ_LDS_BANK_CONFLICT"
    command = ["rocprofv3", "--pmc", counter, "--output-format", "csv", "-d", str(folder / "counts"), "--", program,
               str(folder / "cases")]
    run(command)
    launches = counted(folder / "counts")
    record = {"about": {"arch": arch, "device": device, "driver": driver, "rocm": runtime, "counter": counter,
                        "tool": " ".join((run(["rocprofv3", "--version"]).split("\n") or [""])[0].split()) or "rocprofv3",
                        "date": datetime.date.today().isoformat(), "seed": options.seed, "repeats": REPEATS},
              "lanes": lanes, "cases": joined(of_instructions, launches, counter)}
    if not any(n for one in record["cases"].values() for n in one["conflicts"]):
        sys.exit(f"{counter} is 0 in all {len(launches)} launches, so it counts nothing on {arch} (of gfx1201 this is "
                 "known): no record is written")
    Path(options.record).write_text(json.dumps(record))
    print(f"{options.record}: {len(launches)} cases on {device} ({arch}); now: simlayout conform --check {options.record}")


def joined(of_instructions, launches, counter):
    """{instruction: lists of labels, addresses, active and conflicts} of the cases and what was counted of each."""
    expected = [name for name, of_one in of_instructions for _ in of_one]
    if [name for name, _ in launches] != expected:
        sys.exit(f"rocprofv3 tells of {len(launches)} launches, not of these {len(expected)} in their order")
    values, found = iter(launches), {}
    for name, of_one in of_instructions:
        conflicts = []
        for label, _, _ in of_one:
            total = next(values)[1].get(counter)
            if total is None or total % REPEATS:
                sys.exit(f"{name}, {label}: {counter} is {total}, no whole number for each of {REPEATS} instructions: is "
                         "something else running on this GPU?")
            conflicts.append(int(total) // REPEATS)
        found[name] = {"labels": [label for label, _, _ in of_one], "addresses": [a for _, a, _ in of_one],
                       "active": [[int(x) for x in active] for *_, active in of_one], "conflicts": conflicts}
    return found


if __name__ == "__main__":
    main()
