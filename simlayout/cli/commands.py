"""The grammar of the command line: the commands, what each is for, and where its parser is described."""

from functools import partial
from importlib import import_module
from typing import cast

from simlayout.cli.parser import Commands, Parser

EXAMPLES = """
    simlayout check '(16,64):(64,1)' --dtype f16 --op ldmatrix.x4
    simlayout check 'Sw<3,3,3> o (16,64):(64,1)'
    simlayout explain '(16,64):(64,1)' --index 2
    simlayout plot 'Sw<3,3,3> o (16,64):(64,1)' -o banks.svg
    simlayout explore '(16,64):(64,1)'
    simlayout emit 'Sw<3,3,3> o (16,64):(64,1)' --unit bytes
    simlayout search '(16,64):(64,1)' --op ldmatrix.x4 st.shared.b128
    simlayout descriptor 0x4000404000010000
    simlayout gemm --kernel mma_permuted -M 256 -N 256 -K 128
    simlayout trace mma_base --lines shared
    simlayout run program.py
    simlayout run kernel.ptx --grid 4 --block 128 --arg A=f32[64,64]:normal --arg C=f32[64,64]
    simlayout ncu report.ncu-rep --trace run.json
    simlayout chips gfx942
    simlayout conform --check tests/data/h200_cases.npz
    simlayout bench squares --rounds 2 --seconds 0.01
    simlayout lesson 1
    simlayout guide
    """

NOTES = """
    Exit codes: 0 answered, 1 the answer is no (--strict, a wrong product, a hazard), 2 the question cannot be answered or
    the answer cannot be written (one line on stderr says why), 130 interrupted, 141 nobody reads the output.
    """

COMMANDS = {
    # name: (module of simlayout.cli:function that describes the parser, what the command is for)
    "check": ("layouts:describe_check", "count the wavefronts of a warp that moves a tile"),
    "explain": ("layouts:describe_explain", "say why an instruction takes its wavefronts"),
    "plot": ("plot:describe", "draw a layout, an access, a fragment or a kernel"),
    "emit": ("layouts:describe_emit", "print a proved index function as source"),
    "explore": ("explore:describe", "a page to try layouts on, served on this machine alone"),
    "search": ("search:describe", "find the layout that serves some instructions at once"),
    "translate": ("translate:describe_translate", "write an index function in other notations, each proved"),
    "equal": ("translate:describe_equal", "prove that two texts are one index function, or show where they differ"),
    "descriptor": ("descriptor:describe", "say what a descriptor of wgmma or tcgen05 holds, and what is wrong"),
    "guide": ("pages:describe_guide", "how to use all this, a page for each subject"),
    "clinic": ("pages:describe_clinic", "worked cases of bank conflicts that users asked about"),
    "lesson": ("lesson:describe", "notebooks that teach banks, layouts and kernels"),
    "gemm": ("gemm:describe_gemm", "predict, verify, emit, run and check one GEMM kernel"),
    "trace": ("trace:describe", "run a kernel on the CPU machine and count along its source"),
    "run": ("run:describe", "run a Numba program, or a kernel of PTX text, on the CPU machine"),
    "ptx": ("ptx:describe", "say what a file of PTX text holds, and what of it the machine cannot execute"),
    "ncu": ("ncu:describe", "read Nsight Compute's report line by line, beside a prediction"),
    "chips": ("chips:describe", "list the GPUs, their rules, and who says so of each"),
    "conform": ("conform:describe", "compare the model with what the hardware counts"),
    "bench": ("bench:describe", "time kernels beside cuBLAS"),
    "tune": ("tune:describe", "measure configurations of matmul on this GPU, and keep the best"),
    "ladder": ("ladder:describe", "walk the tutorials' ladders, rung by rung"),
    "kernels": ("gemm:describe_kernels", "list the GEMM kernels and their options, or the plan of one"),
}


def command_line() -> Parser:
    """The parser of the whole command line; the options it makes have a function `run(options) -> exit code`."""
    from simlayout import __version__

    purpose = "Shared-memory layouts: predicted, proved, drawn, emitted, and run in real GEMM kernels."
    parser = Parser("simlayout", description=purpose)
    parser.teach(EXAMPLES, NOTES)
    parser.add_argument("--version", action="version", version=f"simlayout {__version__}")
    commands = cast(Commands, parser.add_subparsers(dest="command", required=True, metavar="COMMAND", action=Commands))
    for name, (home, summary) in COMMANDS.items():
        commands.add(name, summary, partial(_described_at, home))
    commands.add("help", "say what a command does and takes, by example", partial(_describe_help, parser, commands))
    return parser


def _described_at(home, parser):
    """Calls the function that describes a command. home: as in COMMANDS."""
    module, _, function = home.partition(":")
    getattr(import_module(f"simlayout.cli.{module}"), function)(parser)


def _describe_help(main, commands, parser):
    def help(options):
        """`simlayout help [COMMAND]`."""
        (commands.choices[options.about] if options.about else main).print_help()
        return 0

    parser.answer(help, """
        simlayout help
        simlayout help check
        """)
    parser.add_argument("about", nargs="?", metavar="COMMAND", choices=tuple(commands.choices),
                        help="(default: all of them)")
