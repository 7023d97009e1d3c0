"""Random control flow in PTX: loops that test at their top, their bottom or in the middle, in one another, with ways out."""

import re

from random_loops import HEAD

MARKS = {"EX2": "ex2.approx.ftz", "LG2": "lg2.approx.ftz", "SIN": "sin.approx", "COS": "cos.approx",
         "RSQ": "rsqrt.approx.ftz", "RCP": "rcp.approx.ftz", "SQRT": "sqrt.approx.ftz", "TANH": "tanh.approx"}
"""{a kind of MUFU: the instruction that becomes one}: by the one that a basic block has, copies of it are seen."""
_BESIDE = ["bar.sync 0; ", "st.shared.f32 [%r4+16], %f1; ", "atom.shared.add.u32 %x1, [%r4], 1; ", "membar.cta; ",
           "@%p8 st.shared.f32 [%r4+8], %f1; ", "fence.proxy.async; "]


class _Writer:
    """Writes `$3` for the block that is number 3, `? L;` and `?! L;` for branches to L under a condition that differs."""

    def __init__(self, rng, most):
        self._rng, self._labels, self._blocks, self._most, self._loops = rng, 0, 0, most, []

    def _label(self):
        self._labels += 1
        return f"Q{self._labels}"

    def block(self):
        if self._blocks == self._most:
            return ""
        self._blocks += 1
        return f"${self._blocks - 1} " + (str(self._rng.choice(_BESIDE)) if self._rng.random() < 0.12 else "")

    def some(self, deep):
        return "".join(self.one(deep + 1) for _ in range(self._rng.integers(1, 3)))

    def one(self, deep=0):
        kind = str(self._rng.choice(["block", "if", "else", "top", "bottom", "middle", "again", "out"],
                                    p=[0.25, 0.12, 0.08, 0.2, 0.1, 0.1, 0.05, 0.1]))
        if deep == 3 or self._blocks == self._most or kind == "block" or kind in ("again", "out") and not self._loops:
            return self.block()
        if kind in ("again", "out"):
            return self.block() + f"? {self._loops[-1][kind == 'out']}; "
        first, last, inside = self._label(), self._label(), self._label()
        if kind in ("if", "else"):
            beside = f"bra {last}; {first}: {self.some(deep)}" if kind == "else" else f"{first}: "
            return f"{self.block()}? {first}; {self.some(deep)}{beside}{last}: "
        self._loops.append((first if kind == "top" else inside, last))
        made = getattr(self, f"_{kind}")(deep, first, last, inside)
        self._loops.pop()
        return made

    def _top(self, deep, first, last, inside):
        out = f"?{self._rng.choice(['', '!'])} {last};"
        test = out if self._rng.random() < 0.6 else f"? {inside}; bra {last}; {inside}:"
        ahead = self.block() if self._rng.random() < 0.8 else ""
        ahead += self.one(deep + 1) if self._rng.random() < 0.2 else ""
        return f"{first}: {ahead}{test} {self.some(deep)}bra {first}; {last}: "

    def _bottom(self, deep, first, last, inside):
        test = f"?{self._rng.choice(['', '!'])} {first};" if self._rng.random() < 0.6 else f"? {last}; bra {first};"
        return f"{first}: {self.some(deep)}{inside}: {self.block()}{test} {last}: "

    def _middle(self, deep, first, last, inside):
        return f"bra.uni {inside}; {first}: {self.some(deep)}{inside}: {self.block()}? {first}; {last}: "


def random_flow(rng, most=8):
    """A text as of _Writer, with no more than a number of blocks."""
    while True:
        writer = _Writer(rng, most)
        text = writer.block() + writer.one() + writer.one() + writer.block()
        if 2 <= text.count("?") <= 8 and re.search(r"(Q\d+):.*bra(?:\.uni)? \1;|(Q\d+):.*\? \2;", text):
            return text


def to_assemble(text):
    """A body whose blocks are one MUFU each."""
    for number, name in enumerate(MARKS.values()):
        text = text.replace(f"${number} ", f"{name}.f32 %f1, %f1; ")
    conditions = iter(range(1, 99))
    text = re.sub(r"\?", lambda _: f"setp.gt.f32 %p1, %f1, %g{next(conditions)}; @%p1 bra", text.replace("?!", "?@"))
    loads = "".join(f"ld.global.f32 %g{i}, [%rd3+{8192 + 128 * i}]; " for i in range(1, 9))
    return f"{HEAD}{loads}setp.eq.u32 %p8, %r1, 77; {text.replace('@%p1 bra@', '@!%p1 bra')}st.global.f32 [%rd3], %f1; ret;"


def to_run(text, alike):
    """A body whose threads go their ways by chance, or all the same way if they are `alike`, and store what they have come
    by: the blocks in their order, what each loads of shared memory, and how many branches."""
    def block(found):
        at = 4 * int(found[1])
        return (f"ld.shared.u32 %x5, [%r4+{at}]; mad.lo.u32 %x4, %x4, 33, %x5; add.u32 %x4, %x4, {at + 1}; "
                f"st.shared.u32 [%r4+{(at + 8) % 64}], %x4; ")

    def branch(found):
        return ("add.u32 %x6, %x6, 1; mad.lo.u32 %x7, %x6, 0x9E3779B1, %x8; shr.u32 %x5, %x7, 15; xor.b32 %x7, %x7, %x5; "
                f"mul.lo.u32 %x7, %x7, 0x85EBCA6B; setp.lt.s32 %p1, %x7, 0; @{found[1]}%p1 bra ")

    for one in ["bar.sync 0; ", "membar.cta; "] if not alike else []:
        text = text.replace(one, "")
    text = re.sub(r"\?(!?) ", branch, re.sub(r"\$(\d+) ", block, text))
    return (f"{HEAD}mov.b32 %x4, 0; mov.b32 %x6, 0; mul.lo.u32 %x8, {'%r8' if alike else '%r1'}, 0xC2B2AE35; "
            f"setp.eq.u32 %p8, %r1, 77; {text}st.global.u32 [%rd3], %x4; st.global.u32 [%rd3+128], %x6; ret;")
