"""run: a program in Python whose kernels run on the CPU machine, or one kernel of PTX text."""

from simlayout.cli import run_program, run_ptx
from simlayout.cli.options import add, given_text
from simlayout.errors import SimlayoutError

EXAMPLES = """
    simlayout run nbody.py
    simlayout run --html report.html --strict game_of_life.py --size 64
    simlayout run --json report.json --hazards off -- kmeans.py
    simlayout run -m package.simulation --steps 100
    simlayout run transpose.ptx --grid 2,2 --block 32,8 --arg A=f32[64,64]:normal --arg C=f32[64,64] --arg 64
    simlayout run transpose.ptx --grid 1 --block 32,8 --arg A=f32[32,32]:arange --arg C=f32[32,32] --arg 32 --lines ptx
    simlayout run gemm.ptx --entry matmul --grid 2,2 --block 128 --shared 65536 --seed 7 --arg A=f16[256,64]:normal \\
        --arg B=f16[256,64]:normal --arg C=f16[256,256] --arg 256 --arg 256 --arg 64 --expect C=C.npy --tolerance 0.01
    simlayout run sum.ptx --grid 8 --block 256 --arg x=x.npy --arg total=f32[1] --save results --json sum.json
    """

NOTES = run_program.NOTES + run_ptx.NOTES


def describe(parser):
    """The parser of `simlayout run`."""
    parser.answer(run, EXAMPLES, NOTES)
    parser.usage = ("simlayout run [options] PROGRAM.py [its arguments]\n       simlayout run [options] -m MODULE "
                    "[its arguments]\n       simlayout run FILE.ptx [options]")
    parser.add_argument("file", metavar="FILE", type=given_text,
                        help="a program in Python (.py), or PTX text; - reads PTX from stdin")
    parser.add_argument("--hazards", choices=("report", "raise", "off"), default="report",
                        help="tell all, stop at the first, or do not look for any, which is faster (default: %(default)s)")
    add(parser, "--json", "--strict")
    parser.add_argument("--together", action="store_true", help="all CTAs at the same time, as in a cooperative launch")
    add(parser, "--arch", of="run", default=None)
    program, ptx = parser.add_argument_group("of a program"), parser.add_argument_group("of PTX")
    parser.set_defaults(arguments=None, own={"program": run_program.add_options(program), "ptx": run_ptx.add_options(ptx)})


def run(options):
    """`simlayout run`."""
    is_program = options.arguments is not None
    _refuse(options, "ptx" if is_program else "program",
            "PTX; a program's own options follow its path" if is_program else "a program in Python, FILE.py")
    return (run_program if is_program else run_ptx).run(options)


def _refuse(options, kind, whose):
    """Refuses options that the other kind of file takes."""
    for action in options.own[kind]:
        if getattr(options, action.dest) != action.default:
            raise SimlayoutError(f"{action.option_strings[0]} is an option of {whose}")
