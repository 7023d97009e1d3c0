"""conform: the model against counters, of this machine's GPU or recorded. `cuda_kernels` is imported when it is called."""

from pathlib import Path

from simlayout.cli import registry
from simlayout.cli.options import add, add_own, given_file, integer
from simlayout.cli.text import field, fit
from simlayout.errors import SimlayoutError
from simlayout.files import STDIO, check_ending, deliver, write_whole
from simlayout.hardware.banks.records import check_file, summaries_text


def describe(parser):
    """The parser of `simlayout conform`."""
    parser.answer(conform, """
        simlayout conform                                     # every instruction; needs a GPU and Nsight Compute
        simlayout conform ld.shared.b64 cp.async --cases 500 --seed 7
        simlayout conform --cases 130 --seed 1 --record cases.npz
        simlayout conform --check cases.npz                   # the same cases against today's model, without a GPU
        simlayout conform --check cases.npz --json measured.json
        simlayout conform --clock                             # by the clock: without Nsight Compute, weaker
        simlayout conform --rocm conform_lds.py               # a script for AMD's GPUs, whose record --check reads too
        """, """
    Every case is an access pattern of one warp: strides, broadcasts, pairs, swizzled tiles, masks, chance. Nsight Compute
    (ncu, on the PATH) reads its wavefronts, bank conflicts and loads one by one; a case that disagrees is measured again
    by itself. The exit code is 1 if the model is wrong anywhere; the first such case of each instruction is explained.
    --json holds the totals; with --check what simlayout/hardware/tables/measured keeps of the files. There `-` is stdin.
    `simlayout.hardware.add_records` makes a recorded file count in the provenance of every answer.

    On AMD's GPUs: --rocm writes one Python file, which needs Python, hipcc and rocprofv3 alone; there
    `python3 conform_lds.py record.json` counts the bank conflicts of some thousand waves, and --check compares them.
    """)
    add_own(parser, "instructions", nargs="*", metavar="INSTRUCTION", values=_forms,
            help="PTX names or their beginnings, e.g. ld.shared.v4.b32 (default: all)")
    parser.add_argument("--cases", type=integer(1, 10**6), default=registry.CONFORM_CASES, metavar="N",
                        help="cases of each spelling (default: %(default)s)")
    add(parser, "--seed", "--json")
    parser.add_argument("--record", metavar="FILE.npz", help="write every case and its counters")
    parser.add_argument("--clock", action="store_true", help="time the cases instead: needs no Nsight Compute, proves less")
    parser.add_argument("--rocm", metavar="FILE.py", help="write the script that counts on an AMD GPU")
    parser.add_argument("--check", nargs="+", metavar="FILE", help="compare recorded files with the model instead")


def _forms():
    return registry.CONFORM_FORMS


def conform(options):
    """`simlayout conform`: exit code 1 if anything was counted that the model does not say."""
    for name, ending in ((options.rocm, ".py"), (options.record, ".npz")):
        if name is not None:
            check_ending(name, ending)
    if options.check:
        _refuse_beside("--check compares whole files as they are", options, *OF_CASES, "--record", "--clock", "--rocm")
        return _check(options)
    if options.rocm:
        _refuse_beside("--rocm writes a script that is always the same", options, *OF_CASES, "--record", "--clock", "--json")
        write_whole(options.rocm, Path(registry.ROCM_SCRIPT).read_bytes())
        print(f"wrote {options.rocm}: on the machine with the GPU, python3 {options.rocm} record.json")
        return 0
    if options.clock:
        _refuse_beside("--clock reads no counters that could be kept", options, "--record")
    return registry.conform(options)


OF_CASES = "an instruction", "--cases", "--seed"
"""What says which cases are counted."""


def _refuse_beside(why, options, *others):
    """Raises SimlayoutError for the first of other options that is given, though it says nothing beside one."""
    given = {"an instruction": options.instructions, "--cases": options.cases != registry.CONFORM_CASES,
             "--seed": options.seed, "--record": options.record, "--clock": options.clock, "--rocm": options.rocm,
             "--json": options.json}
    for name in others:
        if given[name]:
            raise SimlayoutError(f"{why}: leave out {name}")


def _check(options):
    """Recorded files against today's model; no GPU takes part."""
    summaries, wrong = [], False
    for path in options.check:
        with given_file(path) as file:
            summary, checked = check_file(file)
        if options.json != STDIO:
            print(f"{field('file', path)}\n{field('cases', summary)}\n\n{fit(registry.table_of_cases(checked))}\n")
        summaries.append(summary)
        wrong |= any(c.wrong.any() for c in checked)
    if options.json:
        deliver(options.json, summaries_text(summaries))
    return int(wrong)
