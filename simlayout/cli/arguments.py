"""The grammar of the command line: the commands, their arguments, and help that teaches by example."""

import argparse
import sys
from difflib import get_close_matches
from textwrap import dedent

from simlayout.cli import (
    bench,
    conform,
    explore,
    gemm,
    ladder,
    layouts,
    lesson,
    ncu,
    pages,
    plot,
    ptx,
    run,
    search,
    trace,
    translate,
)
from simlayout.cli.options import add, add_own, given_text, kernels, names_file
from simlayout.cli.text import one_line
from simlayout.files import STDIO

LAYOUT_HELP = ("a layout such as '(16,64):(64,1)' or 'Sw<3,3,3> o (16,64):(64,1)'; quote it for the shell; "
               "- reads it from stdin")


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose complaints are one line, and whose `--json` takes the next word only if that is a file."""

    def parse_known_args(self, args=None, namespace=None):
        """As argparse does."""
        words, given = run.program_words(list(sys.argv[1:] if args is None else args))
        end = words.index("--") if "--" in words else len(words)
        for i in range(end):
            if words[i] == "--json" and i + 1 < len(words) and not names_file(words[i + 1]):
                words[i] = f"--json={STDIO}"
        options, unknown = super().parse_known_args(words, namespace)
        if given is not None:
            options.arguments = given
        return options, unknown

    def _check_value(self, action, value):
        """Raises ArgumentError for a value that is not among the choices, and suggests the nearest one."""
        if action.choices is None or value in action.choices:
            return
        near = get_close_matches(str(value), map(str, action.choices), 1)
        hint = f"did you mean {near[0]}?" if near else f"choose from {', '.join(map(str, action.choices))}"
        raise argparse.ArgumentError(action, f"invalid choice: {value!r} ({hint})")

    def parse_args(self, args=None, namespace=None):
        """As argparse does; the error for an unknown option suggests the nearest one."""
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            known = options.parser if hasattr(options, "parser") else self
            near = [get_close_matches(word.split("=")[0], known._option_string_actions, 1) for word in unknown[:1]][0]
            hint = f" (did you mean {near[0]}?)" if near else ""
            if hasattr(options, "op") and not unknown[0].startswith("-"):
                hint = "; quote the LAYOUT for the shell" + ("" if isinstance(options.op, list) else ", and give one --op")
            known.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return options

    def _print_message(self, message, file=None):
        """Help that cannot be written is an error here; argparse ignores it."""
        if file is sys.stdout:
            file.write(message)
        else:
            super()._print_message(message, file)

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
        simlayout run program.py
        simlayout run kernel.ptx --grid 4 --block 128 --arg A=f32[64,64]:normal --arg C=f32[64,64]
        simlayout ncu report.ncu-rep --trace run.json
        simlayout conform --check tests/data/h200_cases.npz
        simlayout bench squares --rounds 2 --seconds 0.01
        simlayout lesson 1
        simlayout guide
        """, """
    Exit codes: 0 answered, 1 the answer is no (--strict, a wrong product, a hazard), 2 the question cannot be answered or
    the answer cannot be written (one line on stderr says why), 130 interrupted, 141 nobody reads the output.
    """))
    parser.add_argument("--version", action="version", version=f"simlayout {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_check(commands)
    _add_explain(commands)
    plot.add_command(commands, _command, _add_access, NATURALLY)
    _add_emit(commands)
    explore.add_command(commands, _command)
    search.add_command(commands, _command)
    translate.add_commands(commands, _command)
    pages.add_commands(commands, _command)
    lesson.add_command(commands, _command)
    _add_gemm(commands)
    _add_trace(commands)
    run.add_command(commands, _command)
    ptx.add_command(commands, _command)
    ncu.add_command(commands, _command)
    _add_conform(commands)
    bench.add_command(commands, _command)
    ladder.add_command(commands, _command)
    _add_kernels(commands)
    _add_help(commands, parser)
    return parser


def _teaching(examples, notes=""):
    """Keyword arguments of a parser: its epilog is the examples, and its options may not be abbreviated."""
    shown = "\n".join(f"  {line}" for line in dedent(examples).strip().splitlines())
    return {"epilog": f"examples:\n{shown}\n{dedent(notes).rstrip()}", "allow_abbrev": False,
            "formatter_class": argparse.RawDescriptionHelpFormatter}


def _command(commands, name, run, summary, examples, notes=""):
    parser = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.",
                                 **_teaching(examples, notes))
    parser.set_defaults(run=run, parser=parser)
    return parser


def _add_access(parser, name="LAYOUT", help=LAYOUT_HELP, values=None):
    """The arguments that name an access: layout, dtype, instruction, lanes, domain, chip. name, help: of the layout's."""
    add_own(parser, "layout", metavar=name, type=given_text, help=help, values=values)
    add(parser, "--dtype", "--lanes", "--domain", "--arch")
    add(parser, "--op", default="ldmatrix.x4")


NATURALLY = """
    LAYOUT is whatever you have: a layout, CuTe's C++ ('composition(Swizzle<3,3,3>{}, Layout<Shape<_16,_64>,
    Stride<_64,_1>>{})'), SWIZZLE_128B, Triton's 'vec = 8, perPhase = 1, maxPhase = 8', or a formula as Python or C write it,
    'row * 64 + (col ^ ((row & 7) << 3))', whose sizes --domain gives: row=64 col=64. In C's text / is integer division.
    The variables of a formula are its coordinates; all other names of --domain are loops of --lanes, or tid.

    Without --lanes one warp moves the whole tile as the instruction naturally does: ldmatrix.x4 takes 16x16 blocks
    along the columns and then down the rows, a plain load or store consecutive pieces along each row. A column-major
    tile, (64,64):(1,64), is walked along its columns; of the matrix instructions it takes those with .trans.
    """


def _add_check(commands):
    parser = _command(commands, "check", layouts.check, "count the wavefronts of a warp that moves a tile", """
        simlayout check '(16,64):(64,1)' --dtype f16 --op ldmatrix.x4
        simlayout check 'Sw<3,3,3> o (16,64):(64,1)' --strict          # exit code 1 if there are conflicts
        simlayout check '(128,32):(40,1)' --op ldmatrix.x4.trans       # rows of 32, 40 apart
        simlayout check '(64,64):(1,64)' --op ldmatrix.x4.trans        # column-major
        simlayout check 'row * 64 + (col ^ ((row & 7) << 3));' --domain row=64 col=64 --op st.shared.b64
        simlayout check '(32,32):(33,1)' --dtype f32 --op ld.shared.b32 --lanes 'tid, k' --domain k=32 --json
        simlayout check 'Sw<3,3,3> o (16,64):(64,1)' --test                 # as a pytest file: ... > test_tile.py
        """, NATURALLY + """
    Conflicts are an answer: the exit code is 0. Under a layout that has some stands a better one, if a short search finds
    it; `simlayout search` looks further, and for several accesses at once.
    """)
    _add_access(parser)
    add(parser, "--json", "--strict", "--test")


def _add_explain(commands):
    parser = _command(commands, "explain", layouts.explain, "say why an instruction takes its wavefronts", """
        simlayout explain '(16,64):(64,1)'
        simlayout explain '(16,64):(64,1)' --op ldmatrix.x4 --index 2
        simlayout explain 'row * 64 + col' --domain row=16 col=64 --op ld.shared.b128
        simlayout explain '(32,32):(32,1)' --dtype f32 --op ld.shared.b32 --lanes 'tid, k' --domain k=32
        """, NATURALLY)
    _add_access(parser)
    add(parser, "--index", default=0)
    add(parser, "--json")


def _add_emit(commands):
    parser = _command(commands, "emit", layouts.emit, "print a proved index function as source", """
        simlayout emit 'Sw<3,3,3> o (16,64):(64,1)' --op ldmatrix.x4
        simlayout emit 'Sw<3,3,3> o (16,64):(64,1)' --unit bytes --cuda
        simlayout emit 'Sw<3,3,3> o (64,64):(64,1)' --op st.shared.b128 --cuda --name store_tile
        simlayout emit 'r * 64 + (c ^ r % 8 * 8);' --domain r=16 c=64 --cuda --name load_tile
        simlayout emit '(16,64):(64,1)' --allow-conflicts
        """, NATURALLY)
    _add_access(parser)
    parser.add_argument("--unit", choices=("elements", "bytes"), default="elements",
                        help="what the function returns (default: %(default)s)")
    parser.add_argument("--cuda", action="store_true", help="CUDA C++ instead of Python")
    parser.add_argument("--name", metavar="NAME", help="of the function (default: tile)")
    parser.add_argument("--allow-conflicts", action="store_true", help="emit also what has bank conflicts")
    add(parser, "--json")


def _add_gemm(commands):
    parser = _command(commands, "gemm", gemm.gemm, "predict, verify, emit, run and check one GEMM kernel", """
        simlayout gemm                                        # the default kernel, on the GPU if there is one
        simlayout gemm --kernel mma_base --cpu -M 256 -N 256 -K 128
        simlayout gemm --kernel mma_permuted -M 1000 -N 1384 -K 520 --stages 4 --accumulate f32
        simlayout gemm --kernel mma_crosswise --warps 8 --loads mixed --json
        simlayout gemm --kernel wgmma_persistent --tile-n 128 --stages 6 --cluster-m 2
        """, f"""
    C (M, N) = A (M, K) times B (N, K) transposed, in f16; (M, N, K) is {tuple(gemm.GPU_SIZE.values())} on a GPU and
    {tuple(gemm.CPU_SIZE.values())} on the CPU machine, by default. Without a GPU the same kernel runs on the CPU machine,
    which counts its wavefronts. The wgmma kernels need a GPU of compute capability 9.0, or --cpu. The exit code is 1 if C
    or a count is wrong.
    """)
    _add_kernel(parser)
    add(parser, "-M", "-N", "-K")
    _add_kernel_options(parser)
    where = parser.add_mutually_exclusive_group()
    add(where, "--cpu")
    where.add_argument("--gpu", dest="device", action="store_const", const="gpu", help="on the GPU, or not at all")
    add(parser, "--json")


def _add_kernel(parser):
    """The kernel of a command, by its place or by --kernel; `gemm.chosen_kernel` reads both."""
    add_own(parser, "named", nargs="?", metavar="KERNEL", values=kernels,
            help="see `simlayout kernels` (default: mma_permuted); or by --kernel")
    add(parser, "--kernel")


def _add_kernel_options(parser):
    add(parser, "--stages", "--accumulate", "--warps", "--loads", "--c-store", "--tile-m", "--tile-n", "--cluster-m",
        "--cluster-n", "--seed")


def _add_trace(commands):
    parser = _command(commands, "trace", trace.trace, "run a kernel on the CPU machine and count along its source", """
        simlayout trace mma_permuted                          # one tile of C, three K steps
        simlayout trace mma_base --lines shared               # where the bank conflicts are
        simlayout trace mma_crosswise --loads mixed -M 256 -N 128 -K 64 --json trace.json
        simlayout trace wgmma_persistent --tile-n 64          # TMA, mbarriers and wgmma
        """, f"""
    M and N are those of one tile, K is {trace.STEPS} steps, by default. Beside each line: how often a warp executed it,
    and the warp instructions, wavefronts and ideal wavefronts of the shared-memory accesses that begin there. Hazards
    (races, reads of what nothing wrote or waited for, ...) are listed with both their lines; with any the exit code is 1.
    CUDA is not needed.
    """)
    _add_kernel(parser)
    add(parser, "-M", "-N", "-K")
    _add_kernel_options(parser)
    add(parser, "--lines", "--json")


def _add_conform(commands):
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
    --json holds the totals; with --check what simlayout/hardware/tables/measured keeps of the files. There `-` is stdin.
    `simlayout.hardware.add_records` makes a recorded file count in the provenance of every answer.
    """)
    conform.add_options(parser)


def _add_kernels(commands):
    parser = _command(commands, "kernels", gemm.kernels, "list the GEMM kernels and their options, or the plan of one", """
        simlayout kernels
        simlayout kernels mma_permuted
        simlayout kernels --json
        """)
    add_own(parser, "named", nargs="?", metavar="KERNEL", values=kernels, help="the plan of this one (default: list all)")
    add(parser, "--json")


def _add_help(commands, parser):
    def help(options):
        """`simlayout help [COMMAND]`."""
        (commands.choices[options.about] if options.about else parser).print_help()
        return 0

    parser_of_help = _command(commands, "help", help, "say what a command does and takes, by example", """
        simlayout help
        simlayout help check
        """)
    parser_of_help.add_argument("about", nargs="?", metavar="COMMAND", choices=tuple(commands.choices),
                                help="(default: all of them)")
