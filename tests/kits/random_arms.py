"""Branches with accesses of memory in their arms, in short: what a text means, random ones, and what becomes of them.

    L8 S8      a word of the thread's own shared memory, 8 bytes from where it begins, is loaded or stored
    D8 V8      a number of 64 bits is loaded there, a vector of two words
    G8 N8 W8   a word of global memory is loaded, is loaded as one that nobody changes (.nc), or is stored
    A8 M8      like L8 and N8, from an address that is made anew
    K Z        some arithmetic; so much of it that the branch around it stays one
    B F        a barrier, a fence
    ? { } { }  a branch that lanes of a warp take differently, and its arms, of which the second may be missing
"""

import re
from collections import Counter

import numpy as np
from machine_code import listed_each
from ptx_texts import module

from simlayout import ptx

HEAD = """.reg .b32 %a, %b<400>, %c<400>, %d<400>; .reg .b64 %e<400>, %g<400>; .reg .pred %q<20>;
.shared .align 16 .b8 s[16384];
ld.param.u64 %rd1, [kernel_param_0]; mov.u32 %r1, %tid.x; mov.u32 %r2, s; shl.b32 %r3, %r1, 4; add.u32 %r4, %r2, %r3;
mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; ld.global.u32 %r5, [%rd3]; ld.global.u32 %r6, [%rd3+128];
mov.u32 %r7, 1; ld.global.u32 %r8, [%rd3+2048]; """
TAIL = "st.global.u32 [%rd3+4096], %r7; ret;"
USED = "mad.lo.u32 %r7, %r7, {0}, 7; "
LINES = {"L": "ld.shared.u32 {0}, [%r4+{1}]; " + USED, "S": "st.shared.u32 [%r4+{1}], {2}; ",
         "G": "ld.global.u32 {0}, [%rd3+{1}]; " + USED, "N": "ld.global.nc.u32 {0}, [%rd3+{1}]; " + USED,
         "A": "shl.b32 %c{3}, %r1, 4; add.u32 %d{3}, %r2, %c{3}; ld.shared.u32 {0}, [%d{3}+{1}]; " + USED,
         "M": "mul.wide.u32 %e{3}, %r1, 4; add.s64 %g{3}, %rd1, %e{3}; ld.global.nc.u32 {0}, [%g{3}+{1}]; " + USED,
         "D": "ld.shared.u64 %e{3}, [%r4+{1}]; mov.b64 {{{0}, %c{3}}}, %e{3}; " + USED + USED.replace("{0}", "%c{3}"),
         "V": "ld.shared.v2.u32 {{{0}, %c{3}}}, [%r4+{1}]; " + USED + USED.replace("{0}", "%c{3}"),
         "W": "st.global.u32 [%rd3+{1}], {2}; ", "B": "bar.sync 0; ", "F": "membar.cta; ",
         "K": "mad.lo.u32 %r7, %r7, %r5, {3}; xor.b32 %r7, %r7, %r6; "}
LONG = 15
"""Of how many K Z is."""
WAYS = 5
"""Branches of a text, of which lanes of a warp take all combinations of ways."""


def body(text):
    """The body of a kernel of (u64, u32) that a text means."""
    return HEAD + _Writer(text.split()).some() + TAIL


class _Writer:
    """Reads words, and numbers what it writes."""

    def __init__(self, words):
        self._words, self._branches, self._lines = words, 0, 0

    def some(self):
        made = ""
        while self._words and (word := self._words.pop(0)) != "}":
            made += self._branch() if word == "?" else self._line(word)
        return made

    def _branch(self):
        self._branches += 1
        at = self._branches
        test = f"and.b32 %a, %r8, {1 << at - 1}; setp.eq.u32 %q{at}, %a, 0; @%q{at} bra "
        first = self._arm()
        if self._words[:1] != ["{"]:
            return f"{test}M{at}; {first}M{at}: "
        return f"{test}E{at}; {first}bra.uni M{at}; E{at}: {self._arm()}M{at}: "

    def _arm(self):
        assert self._words.pop(0) == "{"
        return self.some()

    def _line(self, word):
        if word == "Z":
            return "".join(map(self._line, "K" * LONG))
        self._lines += 1
        return LINES[word[0]].format(f"%b{self._lines}", word[1:], f"%r{5 + self._lines % 2}", self._lines)


def of_ptxas(texts, folder):
    """{text: {"LDS", "LDS.64", ..., "STG": how many its machine code has}}."""
    made = listed_each([body(text) for text in texts], folder)
    return {text: _counted((name, 1) for name in made[body(text)]) for text in texts}


def of_machine(text):
    """The same as a warp executes them in which lanes go each way."""
    numbers = np.zeros(8192, np.uint32)
    numbers[512:544] = np.arange(32)
    trace = ptx.load(module(body(text), ["u64", "u32"])).entry().run(1, 32, numbers, 7, hazards="off")
    names = {"ld.shared": "LDS", "st.shared": "STS", "ld.global": "LDG", "st.global": "STG"}
    return _counted((f"{names[one.instruction[:9]]}.{one.instruction.rpartition('.')[2][1:]}", one.instructions)
                    for one in (*trace.lines, *trace.sectors))


def _counted(accesses):
    """{"LDS", "LDS.64", ..., "STG": how many} of (opcode, how many)."""
    found = Counter()
    for opcode, many in accesses:
        if access := re.match(r"(LDS|STS|LDG|STG)\b", opcode):
            wide = re.search(r"\.(64|128)\b", opcode)
            found[access[1] + (wide[0] if wide else "")] += many
    return dict(found)


def random_arms(random, words, first="", arms=""):
    """A text of some branches. words: what their arms and what is beside them are made of; first: what comes first of all;
    arms: what each arm begins with."""
    left = [WAYS]

    def some(least=0):
        return [random.choice(words) for _ in range(random.randint(least, 3))]

    def arm(deep):
        inside = branch(deep + 1) if deep < 2 and random.random() < 0.2 else []
        return ["{", *arms.split(), *some(1), *inside, "}"]

    def branch(deep):
        left[0] -= 1
        return ["?", *arm(deep), *(arm(deep) if random.random() < 0.7 else [])] if left[0] >= 0 else []

    parts = (one for _ in range(random.randint(1, 3)) for one in (some(), branch(0)))
    return " ".join([*first.split(), *(word for part in parts for word in part), *some()])
