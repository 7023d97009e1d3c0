"""plot: figures of a layout, an access, a fragment, a TMA box or a kernel, into a file."""

import re
from argparse import Namespace
from dataclasses import dataclass
from textwrap import fill

from simlayout import plots
from simlayout.cli import registry
from simlayout.cli.layouts import indexed
from simlayout.cli.options import NATURALLY, add, add_access, add_own, fragments, given_layout, integer, kernels
from simlayout.cli.text import tell
from simlayout.codegen.tile_text import tile_of_text
from simlayout.errors import SimlayoutError
from simlayout.plots import KINDS
from simlayout.plots.files import format_of
from simlayout.plots.tma import SPANS

MOST_STEPS = 64


def _examples():
    """The examples of every kind, one on each line."""
    return "".join(f"\n    simlayout plot {example}" for kind in KINDS.values() for example in kind.examples) + "\n    "


def _notes():
    """The help about WHAT, kind by kind."""
    rows = (fill(kind.what, 122, initial_indent=f"      {kind.name:<10}", subsequent_indent=" " * 16)
            for kind in KINDS.values())
    return "\n".join(("\n    FILE is FILE.svg or FILE.png. What WHAT is, by kind:", *rows)) + "\n    "


def describe(parser):
    """The parser of `simlayout plot`."""
    parser.answer(plot, _examples(), _notes() + NATURALLY)
    add_access(parser, "WHAT", "a layout, an instruction or a kernel, see below; quote it for the shell",
               subjects)
    parser.add_argument("--kind", choices=tuple(KINDS), default="banks", help="of figure, see below (default: %(default)s)")
    add(parser, "--index", nargs="+", default=[0])
    parser.add_argument("--with", dest="other", metavar="LAYOUT", type=given_layout, help="of compare: the other layout")
    parser.add_argument("--by", choices=("offset", "bank", "chunk"), default="offset",
                        help="of layout: what a cell says (default: %(default)s)")
    add_own(parser, "--operand", default="A", help="of fragment: A, B, C or D (default: %(default)s)", values=lambda: "ABCD")
    add(parser, "-M", "-N", "-K", "--stages")
    parser.add_argument("--steps", type=integer(1, MOST_STEPS), default=6, metavar="N",
                        help="of pipeline: K steps (default: %(default)s)")
    add(parser, "--output", required=True)
    add(parser, "--json")


def subjects():
    """The values of WHAT that the shell offers: all but layouts."""
    return [*kernels(), *fragments(), *SPANS]


@dataclass(frozen=True)
class CommandLineRequest:
    """A `simlayout.plots.kinds.FigureRequest` from the options of this command."""

    options: Namespace

    def access(self, index=None, layout=None):
        options = self.options if layout is None else Namespace(**{**vars(self.options), "layout": layout})
        return indexed(options, options.index[0] if index is None else index)

    def tile(self):
        return tile_of_text(self.options)[0]

    def kernel(self):
        kernel = registry.named(self.options.layout)
        return kernel if self.options.stages is None else kernel.variant(stages=self.options.stages)


def _check_options(options, kind):
    """Raises SimlayoutError for an option that this kind of figure has no use for, and for a kernel or an instruction where
    a layout is drawn."""
    for name in dict.fromkeys(name for other in KINDS.values() for name in other.takes):
        if name not in kind.takes and getattr(options, name) != options.parser.get_default(name):
            flag = "--with" if name == "other" else f"--{name}" if len(name) > 1 else f"-{name}"
            fit = [other.name for other in KINDS.values() if name in other.takes]
            raise SimlayoutError(f"{flag} is of --kind {', '.join(fit)}, not of {kind.name}: leave it out, or give --kind "
                                 f"{' or '.join(fit)}")
    if "dtype" in kind.takes:
        instruction = options.layout in fragments() or re.match(r"(wgmma|tcgen05)\.|m\d+n\d+k\d", options.layout)
        for known, what, other in ((options.layout in kernels(), "a kernel", "plan or pipeline"),
                                   (instruction, "an instruction", "fragment"),
                                   (re.match(r"m\d+n\d+(\.|$)", options.layout), "an accumulator", "tmem")):
            if known:
                raise SimlayoutError(f"{options.layout} is {what}, and --kind {kind.name} draws a layout: give --kind "
                                     f"{other}")


def plot(options):
    """`simlayout plot`."""
    kind = KINDS[options.kind]
    format_of(options.output)
    if len(options.index) > 1 and not kind.several:
        several = " or ".join(f"--kind {other.name}" for other in KINDS.values() if other.several)
        raise SimlayoutError(f"--index: {kind.name} draws one instruction; give several with {several}")
    _check_options(options, kind)
    plots.library.matplotlib().use("agg")                # into a file: no window
    drawn, shown = kind.draw(CommandLineRequest(options))
    plots.save(drawn, options.output)
    plots.close(drawn)
    tell(options.json, {"kind": kind.name, "output": options.output, "shows": shown}, f"wrote {options.output}: {shown}")
    return 0
