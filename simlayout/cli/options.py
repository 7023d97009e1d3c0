"""The options that commands share: one row per name, so that a name means the same wherever it stands."""

import argparse
import os
import re
import sys
from contextlib import contextmanager
from tempfile import TemporaryDirectory

from simlayout.cli import registry
from simlayout.errors import SimlayoutError
from simlayout.files import STDIO

MAX_SIZE = 2**31 - 1


# ---- values ------------------------------------------------------------------------------------------------------------

def integer(least=1, most=MAX_SIZE):
    """A reader of integers from least to most, for argparse.

    >>> integer(1, 4)("3")
    3
    >>> integer(1, 4)("0")
    Traceback (most recent call last):
    ...
    argparse.ArgumentTypeError: '0' is not an integer from 1 to 4
    """
    def read(text):
        if not re.fullmatch(r"[0-9]{1,12}", text, re.ASCII) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer from {least} to {most}")
        return int(text)

    return read


def seconds(text):
    """A number of seconds, more than 0 and less than 60."""
    try:
        value = float(text) if text.isascii() else 0.0
    except ValueError:
        value = 0.0
    if not 0 < value < 60:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, more than 0 and less than 60")
    return value


def loop(text):
    """"k=4" -> ("k", 4)."""
    match = re.fullmatch(r"([A-Za-z_]\w{0,30})=([0-9]{1,6})", text, re.ASCII)
    if not match or int(match[2]) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: write NAME=TRIPS, from 1 to 999999 and with spaces between, as in "
                                         "row=64 col=64")
    return match[1], int(match[2])


def given_text(text):
    """The text itself, or what stdin holds where it is `-`."""
    if text != STDIO:
        return text
    if sys.stdin is None or sys.stdin.closed:
        raise argparse.ArgumentTypeError("- reads stdin, which is closed")
    try:
        if text := sys.stdin.read().removeprefix("\ufeff").strip():
            return text
    except (OSError, ValueError) as error:               # ValueError: bytes that are no text
        raise argparse.ArgumentTypeError(f"- reads stdin, which cannot be read: {error}") from None
    raise argparse.ArgumentTypeError("- reads stdin, which is empty")


def given_layout(text):
    """The same of a layout's text, which is no file's name."""
    text = given_text(text)
    if "." in os.path.basename(text) and os.path.isfile(text):
        raise argparse.ArgumentTypeError(f"{text} is a file: give the text of a layout, such as '(16,64):(64,1)'; "
                                         "`simlayout run` runs programs and PTX")
    return text


@contextmanager
def given_file(name):
    """The name itself, or that of a temporary file with what stdin holds where it is `-`."""
    if name != STDIO:
        yield name
        return
    try:
        data = sys.stdin.buffer.read()
    except (AttributeError, OSError, ValueError):        # there is none, or it is closed
        raise SimlayoutError("- reads stdin, which cannot be read") from None
    with TemporaryDirectory() as folder:
        path = os.path.join(folder, "stdin")
        with open(path, "wb") as file:
            file.write(data)
        yield path


def names_file(word):
    """Whether the word after `--json` is its FILE: `-`, *.json, or a path into a folder that there is. Any other word, a
    layout or the number of a lesson, is the command's.

    >>> [names_file(word) for word in ("-", "a.json", "/tmp/a", "(16,64):(64,1)", "row / 2", "1", "--strict")]
    [True, True, True, False, False, False, False]
    """
    folder = os.path.dirname(word)
    return word == STDIO or word.endswith(".json") or folder != "" and os.path.isdir(folder)


class Op(argparse.Action):
    """--op: the instruction, given once; of a command that takes several, one more."""

    def __call__(self, parser, namespace, values, option_string=None):
        if not all(one.strip() for one in ([values] if isinstance(values, str) else values)):
            parser.error("--op '': name an instruction, such as ldmatrix.x4")
        if isinstance(values, list):
            namespace.op = [*(namespace.op or ()), *values]
            return
        if getattr(namespace, "op_given", False):
            parser.error(f"--op {values}: --op {namespace.op} is given, and one command takes one: ask for each by itself, "
                         "or `simlayout search` for both at once")
        namespace.op, namespace.op_given = values, True


class Lanes(argparse.Action):
    """--lanes TEXT: of the --op before it; of a command that takes several, kept as (the number of the op, the text)."""

    def __call__(self, parser, namespace, values, option_string=None):
        if not isinstance(namespace.op, list):
            if namespace.lanes is not None:
                parser.error(f"--lanes {values!r}: --lanes {namespace.lanes!r} is given, and one access has one: ask for "
                             "each by itself, or `simlayout search` for several accesses at once")
            namespace.lanes = values
            return
        if not namespace.op:
            parser.error("--lanes goes behind the --op whose coordinates it gives")
        at = len(namespace.op) - 1
        if any(at == other for other, _ in namespace.lanes):
            parser.error(f"--lanes: {namespace.op[at]} has its own already: name the --op again for another access")
        namespace.lanes = [*namespace.lanes, (at, values)]


# ---- the table ---------------------------------------------------------------------------------------------------------

SHARED = {
    "--json": dict(nargs="?", const=STDIO, metavar="FILE", help="print one JSON object in place of the text; with FILE "
                   "(*.json, - for stdout) write it there, beside the text"),
    "--dtype": dict(default="f16", help={
        "": "of the elements: f16, bf16, tf32, f32, f64, e4m3, s8, ... (default: f16)",
        "tune": "of A and B: f16, bf16, e4m3, e5m2, s8, u8, or A's and B's, e4m3.e5m2 (default: f16)"}),
    "--op": dict(action=Op, metavar="INSTRUCTION", help="a PTX name: ldmatrix.x4, ld.shared.v4.f32, st.shared.b64, "
                 "cp.async.cg.16, ..., or of an AMD --arch ds_read_b128, ds_write_b64, ... (default: the widest load, "
                 "ldmatrix.x4 or ds_read_b128)"),
    "--lanes": dict(action=Lanes, metavar="TEXT", help="the coordinate that thread tid gives the --op before it, as in "
                    "'tid %% 16, 16*k + 8*(tid // 16)' (default: the natural way, see `simlayout help check`); its loops "
                    "are in --domain too, k=4, and tid=64 for two warps"),
    "--domain": dict(type=loop, nargs="+", action="extend", default=[], metavar="NAME=TRIPS",
                     help="how many values a name takes: the coordinates of a formula, row=64 col=64, so also of a bare "
                     "swizzle or SWIZZLE_128B"),
    "--arch": dict(default="sm_90", help={
        "": "sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_103, sm_110, sm_120 or sm_121; or one of AMD's, such as gfx942: "
            "`simlayout chips` lists them (default: sm_90)",
        "run": "the GPU, sm_75 to sm_121: `simlayout chips` lists them (default: sm_90, of PTX its target)",
        "descriptor": "sm_90 for wgmma, sm_100 or sm_103 for tcgen05 (default: what bits 46-48 say)"}),
    "--index": dict(type=integer(0), metavar="N", help="which instruction, counted from 0 (default: 0)"),
    "--kernel": dict(metavar="KERNEL", help={"": "a GEMM kernel: see `simlayout kernels`",
                                             "ncu": "a kernel of the report, or a part of its name"}),
    "-M": dict(type=integer(), metavar="M", help="rows of A and C (default: see below)"),
    "-N": dict(type=integer(), metavar="N", help="columns of B and C (default: see below)"),
    "-K": dict(type=integer(), metavar="K", help="columns of A, rows of B (default: see below)"),
    "--stages": dict(type=integer(), metavar="N", help="stages of shared memory: 1 to 4; of wgmma kernels 2 to what fits"),
    "--accumulate": dict(help="f16 or f32"),
    "--warps": dict(type=integer(), metavar="N", help="4 or 8"),
    "--loads": dict(help="ldmatrix, lds, mixed or, of mma_blocks, wmma"),
    "--c-store": dict(help="float2 or scalar"),
    "--tile-m": dict(type=integer(), metavar="N", help="of wgmma kernels: 64, 128, 192 or 256 rows, 64 for each warpgroup"),
    "--tile-n": dict(type=integer(), metavar="N", help="of wgmma kernels: columns, a multiple of 8 to 256"),
    "--cluster-m": dict(type=integer(), metavar="N", help="of wgmma kernels: 1, 2 or 4 CTAs that share their loads of B"),
    "--cluster-n": dict(type=integer(), metavar="N", help="of wgmma kernels: 1, 2 or 4 CTAs that share their loads of A"),
    "--seed": dict(type=integer(0), default=0, metavar="N", help="of the random numbers (default: %(default)s)"),
    "--limit": dict(type=integer(), metavar="N", help={
        "search": "show at most so many layouts (default: 5)",
        "run": "stop a warp that has executed so many instructions (default: 4294967296)"}),
    "--lines": dict(choices=("all", "shared"), default="all", help={
        "": "every executed line, or those that access shared memory (default: all)",
        "run": "every executed line, those that access shared memory, or every line of the PTX (default: all)",
        "ncu": "every executed line, those that access shared memory, or the SASS instructions that do (default: all)"}),
    "--cpu": dict(dest="device", action="store_const", const="cpu", default="auto", help="on the CPU machine"),
    "--strict": dict(action="store_true", help="exit with 1 where there are excess wavefronts (which atomics of "
                       "floats always have, being loops), or hazards"),
    "--test": dict(action="store_true", help="print a pytest file instead: property tests of the layout and its accesses"),
    "--sizes": dict(type=integer(1, 2**17 - 1), nargs="+", metavar="N", help="M = N = K of square products on the GPU"),
    "--only": dict(nargs="+", default=[], metavar="TEXT", help="only rows that contain one of these texts"),
    "--rounds": dict(type=integer(1, 1000), default=5, metavar="N", help="timed turns of each (default: 5)"),
    "--seconds": dict(type=seconds, metavar="S", help={
        "bench": "that a turn takes (default: 0.05; of kernels and steps 0.15, of ladder 0.5)",
        "tune": "to measure a product (default: 3)"}),
    "--plot": dict(metavar="FILE", help="draw the measured rows into FILE.svg or FILE.png"),
    "--output": dict(metavar="FILE", help="the file to write"),
}
"""Name -> keywords of `add_argument`; a help that is {command: text, "": text for the others} says to each what it means
there. What a command may change: `required`, `default`, `nargs`, `action`, and what it may choose from, `choices`."""

SPELLINGS = {"--output": ("-o", "--output"), "--sizes": ("--sizes", "--size")}
"""Of options that have several."""


def add(parser, *names, of="", **changed):
    """Adds shared options to a parser or a group. of: the command; changed: its own `required`, `default`, `nargs`, `action`
    or `choices`."""
    if wrong := set(changed) - {"required", "default", "nargs", "action", "choices"}:
        raise TypeError(f"{', '.join(sorted(wrong))} of a shared option: its one meaning stands in SHARED")
    for name in names:
        keywords = {**SHARED[name], **changed}
        if isinstance(keywords["help"], dict):
            keywords["help"] = keywords["help"].get(of) or keywords["help"][""]
        add_own(parser, *SPELLINGS.get(name, (name,)), values=VALUES.get(f"{name} of {of}", VALUES.get(name)), **keywords)


def add_own(parser, *flags, values=None, **keywords):
    """Adds an argument that no other command has. values: a function that gives what the shell offers."""
    action = parser.add_argument(*flags, **keywords)
    if values is not None:
        action.completer = lambda **_: sorted(map(str, values()))


LAYOUT_HELP = ("a layout such as '(16,64):(64,1)' or 'Sw<3,3,3> o (16,64):(64,1)'; quote it for the shell; "
               "- reads it from stdin")

NATURALLY = """
    LAYOUT is whatever you have: a layout, CuTe's C++ ('composition(Swizzle<3,3,3>{}, Layout<Shape<_16,_64>,
    Stride<_64,_1>>{})'), SWIZZLE_128B, Triton's 'vec = 8, perPhase = 1, maxPhase = 8', or a formula as Python or C write it,
    'row * 64 + (col ^ ((row & 7) << 3))', whose sizes --domain gives: row=64 col=64. In C's text / is integer division.
    The variables of a formula are its coordinates; all other names of --domain are loops of --lanes, or tid.

    Without --lanes one warp moves the whole tile as the instruction naturally does: ldmatrix.x4 takes 16x16 blocks
    along the columns and then down the rows, a plain load or store consecutive pieces along each row. A column-major
    tile, (64,64):(1,64), is walked along its columns; of the matrix instructions it takes those with .trans.
    """
"""What the help of commands with add_access says."""

WORDS = """
    A wavefront is one pass of an instruction through the 32 banks, which serves a word of 4 bytes of each; ideal is how
    many it would take without conflicts, excess the rest; conflicts is what Nsight Compute counts as bank conflicts.
    """
"""What the help says of counts."""


def add_access(parser, name="LAYOUT", help=LAYOUT_HELP, values=None):
    """Adds the arguments that name an access: layout, dtype, instruction, lanes, domain, chip. name, help: of the
    layout's."""
    add_own(parser, "layout", metavar=name, type=given_layout, help=help, values=values)
    add(parser, "--dtype", "--lanes", "--domain", "--arch")
    add(parser, "--op")


# ---- what the shell offers -----------------------------------------------------------------------------------------------

def kernels():
    """Names of the GEMM kernels."""
    return registry.KERNELS


def instructions():
    """Names of the instructions that access shared memory."""
    from simlayout.hardware import ARCHES, INSTRUCTIONS

    return {*INSTRUCTIONS, *(row.name for chip in ARCHES.values() for row in chip.instructions)}


def dtypes():
    """Names of the types of elements."""
    from simlayout.algebra.dtypes import DTYPES

    return DTYPES


def arches():
    """Names of the chips."""
    from simlayout.hardware import ARCHES

    return ARCHES


def fragments():
    """Names of the instructions whose fragments are known."""
    from simlayout.hardware import FRAGMENTS

    return {name for name, _ in FRAGMENTS}


VALUES = {"--dtype": dtypes, "--dtype of tune": lambda: registry.TUNE_DTYPES, "--op": instructions, "--arch": arches,
          "--kernel": kernels, "--kernel of ncu": None, "--accumulate": lambda: ("f16", "f32"),
          "--loads": lambda: ("ldmatrix", "lds", "mixed", "wmma"), "--c-store": lambda: ("float2", "scalar")}
