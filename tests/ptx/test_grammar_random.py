"""The grammar on modules that nobody wrote: what is printed is read back, and what is broken is refused in one line."""

import random
import re

import pytest
from ptx_modules import modules
from ptx_printed import printed, without_places
from ptx_samples import TEXTS
from tiers import given_few

from simlayout.errors import ParseError
from simlayout.machine.ptx.parser.grammar import parse
from simlayout.machine.ptx.parser.tokens import Tokens

CHANGES = ("cut", "delete", "repeat", "swap", "move", "from another", "character")


@given_few(12, 1_500, modules())
def test_a_module_that_is_printed_is_read_back(module):
    assert without_places(parse(printed(module))) == module


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_module_that_was_written_is_printed_and_read_back(text):
    module = parse(text)
    assert without_places(parse(printed(module))) == without_places(module)


def pieces(text):
    """The tokens of a text, each with what stands before it."""
    tokens = Tokens(text)
    ends = [start + len(word) for start, word in zip(tokens.starts, tokens.words)]
    return [text[begin:end] for begin, end in zip([0, *ends], ends[:-2])]


PIECES = {name: pieces(text) for name, text in TEXTS.items()}


def broken(seed):
    """A text with one to three faults."""
    choice = random.Random(seed)
    found = list(PIECES[choice.choice([*PIECES])])
    for _ in range(choice.randint(1, 3)):
        at, other = choice.randrange(len(found)), choice.randrange(len(found))
        change = choice.choice(CHANGES)
        if change == "cut":
            del found[max(at, 1):]
        elif change == "delete" and len(found) > 1:
            del found[at]
        elif change == "repeat":
            found.insert(at, found[at])
        elif change == "swap":
            found[at], found[other] = found[other], found[at]
        elif change == "move":
            found.insert(other, found.pop(at))
        elif change == "from another":
            found[at] = choice.choice(PIECES[choice.choice([*PIECES])])
        else:
            cut = choice.randrange(len(found[at]) + 1)
            found[at] = found[at][:cut] + choice.choice("%.{}[]();,:@!|\"/*\\#0 \n\0é") + found[at][cut:]
    return "".join(found)


@pytest.mark.parametrize("seeds", [range(2000), pytest.param(range(2000, 12_000), marks=pytest.mark.sweep)], ids=len)
def test_a_module_with_faults_is_read_or_refused_in_one_line_that_says_where(seeds):
    refused = 0
    for seed in seeds:
        text = broken(seed)
        try:
            parse(text, "faulty.ptx")
        except ParseError as error:
            refused += 1
            said = re.fullmatch(r"faulty\.ptx:(\d+):(\d+): expected .*, found .*", str(error))
            assert said, (seed, str(error))
            line, column = map(int, said.groups())
            lines = text.split("\n")
            assert 1 <= line <= len(lines) and 1 <= column <= len(lines[line - 1]) + 1, (seed, str(error))
    assert refused > len(seeds) / 2


@pytest.mark.parametrize("text", ["/*" * 50_000, '"\\' * 50_000, "{" * 50_000, "(" * 50_000, "@" * 50_000, "-" * 50_000,
                                  "[" * 50_000, "/* *" * 50_000, "1" * 50_000, "a." * 50_000, "a::" * 50_000, "!" * 50_000,
                                  ".loc 1 1 1, function_name f, inlined_at 1 1 1\n" * 10_000])
@pytest.mark.parametrize("before", ["", ".version 9.0\n.target sm_90\n.global .u32 x = ",
                                    ".version 9.0\n.target sm_90\n.entry f() { add.s32 ",
                                    ".version 9.0\n.target sm_90\n.entry f() { L: "])
def test_long_nonsense_is_refused_at_once(before, text):
    with pytest.raises(ParseError, match=r"\A<text>:\d+:\d+: expected [^\n]*, found [^\n]*\Z"):
        parse(before + text)
