"""descriptor: what a descriptor of wgmma or tcgen05.mma says, what it makes of a tile, and the usual mistakes."""

import re
from dataclasses import asdict

from simlayout.cli.options import add, given_text, integer
from simlayout.cli.text import field, fit, tell
from simlayout.errors import LayoutError
from simlayout.hardware.matrix.diagnosis import Diagnosis, diagnose
from simlayout.hardware.matrix.instruction_descriptor import SOURCE as INSTRUCTION_SOURCE
from simlayout.hardware.matrix.instruction_descriptor import InstructionDescriptor, instruction_descriptors
from simlayout.hardware.tables.operand_readers import operand_reader
from simlayout.hardware.tables.tcgen05 import KINDS

EXAMPLES = """
    simlayout descriptor 0x4000404000010000
    simlayout descriptor 0x4000004000010040 --dtype bf16 --rows 64 --depth 64
    simlayout descriptor 0x4000404002000000 --rows 128 --depth 64 --major MN
    simlayout descriptor 0x4000004000010040 --arch sm_100
    simlayout descriptor 0x4000400100400000 --rows 128 --depth 64 --json
    simlayout descriptor 0x08400010
    simlayout descriptor 0x10400480 --mma-kind mxf4nvf4
    """

NOTES = """
    BITS are the 64 bits of a descriptor of shared memory, as wgmma (sm_90) and tcgen05.mma (sm_100) take them, in hex or
    decimal; bits 46-48 or --arch tell which of the two. Every field is shown in words, then what one instruction reads with
    it: its layout (mn, k) in elements, as CUTLASS writes canonical layouts, its bytes, and whether any two elements share
    some. With --rows and --depth TMA has written a tile at the start, in boxes of the descriptor's swizzle; the answer says
    whether it is read right, and if not, which usual mistake explains it.

    32 bits are an instruction descriptor of tcgen05.mma. Its types have numbers that depend on the instruction's kind, which
    --mma-kind gives; without it every kind for which the bits are legal is shown. The exit code is 1 if 64 bits are no
    descriptor, or if the tile is not read right.
    """


def word(text):
    """64 bits written in hex, binary or decimal; LayoutError for what is none.

    >>> hex(word("0x4000_4040_0001_0000")), word("1024")
    ('0x4000404000010000', 1024)
    """
    digits = text.replace("_", "")
    if not re.fullmatch(r"0[xX][0-9a-fA-F]{1,16}|0[bB][01]{1,64}|[0-9]{1,20}", digits) or not int(digits, 0) < 1 << 64:
        raise LayoutError(f"{text!r} is not a number of 64 bits: write it as 0x4000404000010000")
    return int(digits, 0)


def describe(parser):
    """The parser of `simlayout descriptor`."""
    parser.answer(descriptor, EXAMPLES, NOTES)
    parser.add_argument("bits", metavar="BITS", type=given_text,
                        help="the descriptor, as 0x4000404000010000; - reads it from stdin")
    add(parser, "--dtype")
    parser.add_argument("--rows", type=integer(8, 256), metavar="N",
                        help="rows of A, or columns of B (default: 64 of wgmma, 128 of tcgen05)")
    parser.add_argument("--depth", type=integer(1, 256), metavar="N",
                        help="elements along K of the tile that TMA wrote (default: no tile is compared)")
    parser.add_argument("--major", choices=("K", "MN"), help="the contiguous side of the tile (default: either)")
    parser.add_argument("--mma-kind", choices=tuple(KINDS), help="of an instruction descriptor: the kind of tcgen05.mma")
    add(parser, "--arch", of="descriptor", default=None)
    add(parser, "--json")


def descriptor(options):
    """`simlayout descriptor`."""
    bits = word(options.bits)
    return _instruction(bits, options) if bits < 1 << 32 or options.mma_kind else _matrix(bits, options)


def _matrix(bits, options):
    """The answer about a descriptor of shared memory."""
    found = diagnose(bits, options.arch, options.dtype, options.rows, options.depth, options.major)
    wrong = bool(found.faults or (found.verdict and found.mistakes))
    tell(options.json, lambda: _report(found), lambda: fit("\n".join(field(*line) for line in found.told())))
    return 1 if wrong else 0


def _report(found: Diagnosis):
    """What `descriptor --json` prints."""
    readings = [{**asdict(reading), "layout": str(reading.layout)} for reading in found.readings]
    return {"bits": f"{found.bits:#018x}", "reader": found.reader, "arch": operand_reader(found.reader).arch,
            "source": found.source.text, "legal": not found.faults, "faults": found.faults,
            "fields": [asdict(f) for f in found.fields], "dtype": found.dtype, "readings": readings,
            "verdict": found.verdict, "mistakes": found.mistakes}


# ---- instruction descriptors --------------------------------------------------------------------------------------------

def _instruction(bits, options):
    """The answer about an instruction descriptor."""
    found = [InstructionDescriptor.decode(bits, options.mma_kind)] if options.mma_kind else instruction_descriptors(bits)
    if not found:
        raise LayoutError(f"{bits:#010x} is no instruction descriptor of any kind of tcgen05.mma: --mma-kind f16 says "
                          "why not; a descriptor of shared memory has 64 bits")
    tell(options.json, lambda: {"bits": f"{bits:#010x}", "instruction": True, "source": INSTRUCTION_SOURCE.text,
                                "kinds": [{**asdict(made), "k": made.k} for made in found]},
         lambda: fit("\n".join(_instruction_lines(bits, found))))
    return 0


def _instruction_lines(bits, found):
    yield field("descriptor", f"{bits:#010x}, instruction descriptor of tcgen05.mma (sm_100)", 16)
    for made in found:
        yield from (field(*line, 16) for line in made.told())
    yield field("provenance", INSTRUCTION_SOURCE, 16)
