"""The grammar of the command line: which commands there are, what they take, and help that teaches by example."""

import argparse
import re
from textwrap import dedent

from simlayout.cli import bench, clinic, conform, explore, gemm, ladder, layouts, lesson, plot, search, trace, translate
from simlayout.cli.text import one_line

LAYOUT_HELP = "a layout such as '(16,64):(64,1)' or 'Sw<3,3,3> o (16,64):(64,1)'; quote it for the shell"
MAX_SIZE = 2**31 - 1


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose complaints are one line."""

    def error(self, message):
        """Exit code 2 and one line on stderr."""
        self.exit(2, f"simlayout: {one_line(message)} (see {self.prog} --help)\n")


def command_line():
    """The parser of the whole command line; the options it makes have a function `run(options) -> exit code`."""
    from simlayout import __version__

    purpose = "Shared-memory layouts: predicted, proved, drawn, emitted, and run in real GEMM kernels."
    parser = Parser("simlayout", description=purpose, **_teaching("""
        simlayout check '(16,64):(64,1)' --dtype f16 --op ldmatrix.x4
        simlayout check 'Sw<3,3,3> o (16,64):(64,1)'
        simlayout explain '(16,64):(64,1)' --index 2
        simlayout plot 'Sw<3,3,3> o (16,64):(64,1)' -o banks.svg
        simlayout explore '(16,64):(64,1)'
        simlayout emit 'Sw<3,3,3> o (16,64):(64,1)' --unit bytes
        simlayout search '(16,64):(64,1)' --op ldmatrix.x4 st.shared.b128
        simlayout gemm --kernel mma_permuted -M 256 -N 256 -K 128
        simlayout trace mma_base --lines shared
        simlayout conform --check tests/data/h200_cases.npz
        simlayout bench squares --rounds 2 --seconds 0.01
        simlayout lesson 1
        """))
    parser.add_argument("--version", action="version", version=f"simlayout {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_check(commands)
    _add_explain(commands)
    plot.add_command(commands, _command, _add_access, NATURALLY, _size)
    _add_emit(commands)
    explore.add_command(commands, _command)
    search.add_command(commands, _command)
    translate.add_commands(commands, _command, _loop)
    clinic.add_command(commands, _command)
    lesson.add_command(commands, _command)
    _add_gemm(commands)
    _add_trace(commands)
    _add_conform(commands)
    bench.add_command(commands, _command)
    ladder.add_command(commands, _command)
    _add_kernels(commands)
    return parser


def _teaching(examples, notes=""):
    """Keyword arguments of a parser: its epilog is the examples, and its options may not be abbreviated."""
    shown = "\n".join(f"  {line}" for line in dedent(examples).strip().splitlines())
    return {"epilog": f"examples:\n{shown}\n{dedent(notes).rstrip()}", "allow_abbrev": False,
            "formatter_class": argparse.RawDescriptionHelpFormatter}


def _command(commands, name, run, summary, examples, notes=""):
    parser = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.",
                                 **_teaching(examples, notes))
    parser.set_defaults(run=run)
    return parser


def _add_access(parser, name="LAYOUT", help=LAYOUT_HELP):
    """The arguments that name an access: layout, dtype, instruction, lanes, domain, chip. name, help: of the layout's."""
    parser.add_argument("layout", metavar=name, help=help)
    parser.add_argument("--dtype", default="f16", help="of the elements: f16, bf16, tf32, f32, f64, e4m3, s8, ... "
                        "(default: %(default)s)")
    parser.add_argument("--op", default="ldmatrix.x4", metavar="INSTRUCTION", help="a PTX name: ldmatrix.x4, "
                        "ld.shared.v4.f32, st.shared.b64, cp.async.cg.16, ... (default: %(default)s)")
    parser.add_argument("--lanes", metavar="TEXT", help="the coordinate that thread tid gives, as in "
                        "'tid %% 16, 16*k + 8*(tid // 16)' (default: the natural way, see below)")
    parser.add_argument("--domain", type=_loop, nargs="+", action="extend", default=[], metavar="NAME=TRIPS",
                        help="the loops around --lanes, as in k=4; tid=64 for two warps")
    parser.add_argument("--arch", default="sm_90", help="sm_75, sm_80, sm_86, sm_89, sm_90 or sm_100 (default: "
                        "%(default)s)")


NATURALLY = """
    Without --lanes one warp moves the whole tile as the instruction naturally does: ldmatrix.x4 takes 16x16 blocks
    along the columns and then down the rows, a plain load or store consecutive pieces along each row.
    """


def _add_check(commands):
    parser = _command(commands, "check", layouts.check, "count the wavefronts of a warp that moves a tile", """
        simlayout check '(16,64):(64,1)' --dtype f16 --op ldmatrix.x4
        simlayout check 'Sw<3,3,3> o (16,64):(64,1)' --strict          # exit code 1 if there are conflicts
        simlayout check '(32,32):(33,1)' --dtype f32 --op ld.shared.b32 --lanes 'tid, k' --domain k=32 --json
        """, NATURALLY + "Conflicts are an answer: the exit code is 0.\n")
    _add_access(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if any instruction has excess wavefronts")


def _add_explain(commands):
    parser = _command(commands, "explain", layouts.explain, "say why an instruction takes its wavefronts", """
        simlayout explain '(16,64):(64,1)'
        simlayout explain '(16,64):(64,1)' --op ldmatrix.x4 --index 2
        simlayout explain '(32,32):(32,1)' --dtype f32 --op ld.shared.b32 --lanes 'tid, k' --domain k=32
        """, NATURALLY)
    _add_access(parser)
    _add_index(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _add_emit(commands):
    parser = _command(commands, "emit", layouts.emit, "print a proved index function as source", """
        simlayout emit 'Sw<3,3,3> o (16,64):(64,1)' --op ldmatrix.x4
        simlayout emit 'Sw<3,3,3> o (16,64):(64,1)' --unit bytes --cuda
        simlayout emit '(16,64):(64,1)' --allow-conflicts
        """, NATURALLY)
    _add_access(parser)
    parser.add_argument("--unit", choices=("elements", "bytes"), default="elements",
                        help="what the function returns (default: %(default)s)")
    parser.add_argument("--cuda", action="store_true", help="CUDA C++ instead of Python")
    parser.add_argument("--allow-conflicts", action="store_true", help="emit also what has bank conflicts")
    parser.add_argument("--json", action="store_true", help="print one JSON object: the source, what was proved of it")


def _add_gemm(commands):
    parser = _command(commands, "gemm", gemm.gemm, "predict, verify, emit, run and check one GEMM kernel", """
        simlayout gemm                                        # the default kernel, on the GPU if there is one
        simlayout gemm --kernel mma_base --cpu -M 256 -N 256 -K 128
        simlayout gemm --kernel mma_permuted -M 1000 -N 1384 -K 520 --stages 4 --accumulate f32
        simlayout gemm --kernel mma_crosswise --warps 8 --loads mixed --json
        simlayout gemm --kernel wgmma_persistent --tile-n 128 --stages 6 --cluster-m 2
        """, """
    C (M, N) = A (M, K) times B (N, K) transposed, in f16. Without a GPU the same kernel runs on the CPU machine, which
    counts its wavefronts. The wgmma kernels need a GPU of compute capability 9.0, or --cpu. The exit code is 1 if C or a
    count is wrong.
    """)
    parser.add_argument("--kernel", default="mma_permuted", metavar="NAME", help="see `simlayout kernels` (default: "
                        "%(default)s)")
    for name in "MNK":
        sizes = f"{gemm.CPU_SIZE[name]} on the CPU machine, {gemm.GPU_SIZE[name]} on a GPU"
        parser.add_argument(f"-{name}", type=_size, help=f"default: {sizes}")
    _add_kernel_options(parser)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--cpu", dest="device", action="store_const", const="cpu", default="auto",
                       help="on the CPU machine")
    where.add_argument("--gpu", dest="device", action="store_const", const="gpu", help="on the GPU, or not at all")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _add_kernel_options(parser):
    parser.add_argument("--stages", type=int, help="stages of shared memory: 1 to 4; of wgmma kernels from 2 to what fits")
    parser.add_argument("--accumulate", help="f16 or f32")
    parser.add_argument("--warps", type=int, help="4 or 8")
    parser.add_argument("--loads", help="ldmatrix, lds, mixed or, of mma_blocks, wmma")
    parser.add_argument("--c-store", help="float2 or scalar")
    parser.add_argument("--tile-m", type=int, help="of wgmma kernels: 64, 128, 192 or 256 rows, 64 for each warpgroup")
    parser.add_argument("--tile-n", type=int, help="of wgmma kernels: columns, a multiple of 16 to 256")
    parser.add_argument("--cluster-m", type=int, help="of wgmma kernels: 1, 2 or 4 CTAs that share their loads of B")
    parser.add_argument("--cluster-n", type=int, help="of wgmma kernels: 1, 2 or 4 CTAs that share their loads of A")
    parser.add_argument("--seed", type=_seed, default=0, help="of the random matrices (default: %(default)s)")


def _add_trace(commands):
    parser = _command(commands, "trace", trace.trace, "run a kernel on the CPU machine and count along its source", """
        simlayout trace mma_permuted                          # one tile of C, three K steps
        simlayout trace mma_base --lines shared               # where the bank conflicts are
        simlayout trace mma_crosswise --loads mixed -M 256 -N 128 -K 64 --json trace.json
        simlayout trace wgmma_persistent --tile-n 64          # TMA, mbarriers and wgmma
        """, """
    Beside each line: how often a warp executed it, and the warp instructions, wavefronts and ideal wavefronts of the
    shared-memory accesses that begin there. Hazards (races, reads of what nothing wrote or waited for, ...) are listed with
    both their lines; with any the exit code is 1. CUDA is not needed.
    """)
    parser.add_argument("kernel", metavar="KERNEL", help="see `simlayout kernels`")
    for name, size in zip("MNK", ("the rows of one tile", "the columns of one tile", f"{trace.STEPS} K steps")):
        parser.add_argument(f"-{name}", type=_size, help=f"default: {size}")
    _add_kernel_options(parser)
    parser.add_argument("--lines", choices=("all", "shared"), default="all",
                        help="every executed line, or those that access shared memory (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="write the counts and hazards to a file as well")


def _add_conform(commands):
    from cuda_kernels.conformance.suite import add_options

    parser = _command(commands, "conform", conform.conform, "compare the model with what the hardware counts", """
        simlayout conform                                     # every instruction; needs a GPU and Nsight Compute
        simlayout conform ld.shared.b64 cp.async --cases 500 --seed 7
        simlayout conform --cases 130 --seed 1 --record cases.npz
        simlayout conform --check cases.npz                   # the same cases against today's model, without a GPU
        simlayout conform --check cases.npz --json measured.json
        simlayout conform --clock                             # by the clock: without Nsight Compute, weaker
        """, """
    Every case is an access pattern of one warp: strides, broadcasts, pairs, swizzled tiles, masks, chance. Nsight Compute
    (ncu, on the PATH) reads its wavefronts, bank conflicts and loads one by one; a case that disagrees is measured again
    by itself. The exit code is 1 if the model is wrong anywhere; the first such case of each instruction is explained.
    `simlayout.hardware.add_records` makes a recorded file count in the provenance of every answer.
    """)
    add_options(parser)
    parser.add_argument("--check", nargs="+", metavar="FILE.npz",
                        help="compare recorded files with the model instead; --json then writes what "
                        "simlayout/hardware/measured keeps of them")


def _add_kernels(commands):
    parser = _command(commands, "kernels", gemm.kernels, "list the GEMM kernels and their options", """
        simlayout kernels
        simlayout kernels --json
        """)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _add_index(parser):
    parser.add_argument("--index", type=int, default=0, metavar="N",
                        help="which instruction, counted from 0 (default: 0)")


def _loop(text):
    """"k=4" -> ("k", 4)."""
    match = re.fullmatch(r"([A-Za-z_]\w{0,30})=([0-9]{1,6})", text, re.ASCII)
    if not match or int(match[2]) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a loop: write NAME=TRIPS, as in k=4")
    return match[1], int(match[2])


def _whole(text, least, most):
    if not re.fullmatch(r"[0-9]{1,12}", text) or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer from {least} to {most}")
    return int(text)


def _size(text):
    return _whole(text, 1, MAX_SIZE)


def _seed(text):
    return _whole(text, 0, MAX_SIZE)
