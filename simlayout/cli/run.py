"""run: a program in Python whose kernels run on the CPU machine, or one kernel of PTX text."""

from simlayout.cli import run_program, run_ptx
from simlayout.cli.options import add, given_text
from simlayout.errors import SimlayoutError

EXAMPLES = """
    simlayout run nbody.py
    simlayout run --html report.html --strict game_of_life.py --size 64
    simlayout run --json report.json --hazards off -- kmeans.py
    simlayout run transpose.ptx --grid 2,2 --block 32,8 --arg A=f32[64,64]:normal --arg C=f32[64,64] --arg 64
    simlayout run transpose.ptx --grid 1 --block 32,8 --arg A=f32[32,32]:arange --arg C=f32[32,32] --arg 32 --lines ptx
    simlayout run gemm.ptx --entry matmul --grid 2,2 --block 128 --shared 65536 --seed 7 --arg A=f16[256,64]:normal \\
        --arg B=f16[256,64]:normal --arg C=f16[256,256] --arg 256 --arg 256 --arg 64 --expect C=C.npy --tolerance 0.01
    simlayout run sum.ptx --grid 8 --block 256 --arg x=x.npy --arg total=f32[1] --save results --json sum.json
    """

NOTES = run_program.NOTES + run_ptx.NOTES


def add_command(commands, command):
    """Adds `run`; command: the function that makes a parser with examples."""
    parser = command(commands, "run", run, "run a Numba program, or a kernel of PTX text, on the CPU machine", EXAMPLES,
                     NOTES)
    parser.usage = "simlayout run [options] PROGRAM.py [its arguments]\n       simlayout run FILE.ptx [options]"
    parser.add_argument("file", metavar="FILE", type=given_text,
                        help="a program in Python (.py), or PTX text; - reads PTX from stdin")
    parser.add_argument("--hazards", choices=("report", "raise", "off"), default="report",
                        help="tell all, stop at the first, or do not look for any, which is faster (default: %(default)s)")
    add(parser, "--json")
    add(parser, "--arch", default=None)
    program, ptx = parser.add_argument_group("of a program"), parser.add_argument_group("of PTX")
    parser.set_defaults(arguments=None, own={"program": run_program.add_options(program), "ptx": run_ptx.add_options(ptx)})


def program_words(words: list[str]) -> tuple[list[str], list[str] | None]:
    """A command line as (what is simlayout's, the arguments of the program that it runs): all after the program's path. None
    where it runs no program.

    >>> program_words(["run", "--quiet", "a.py", "--size", "4"])
    (['run', '--quiet', 'a.py'], ['--size', '4'])
    >>> program_words(["run", "a.ptx", "--grid", "4"])
    (['run', 'a.ptx', '--grid', '4'], None)
    """
    at = next((i for i, word in enumerate(words) if word.endswith(".py") and not word.startswith("-")), None)
    if words[:1] != ["run"] or at is None:
        return words, None
    return words[:at + 1], words[at + 1:]


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
