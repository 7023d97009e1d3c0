"""chips: which architectures there are, and who says so of every rule."""

import re

from simlayout.cli.options import add, add_own, arches
from simlayout.cli.text import field, fit, tell
from simlayout.hardware.tables.arch import ARCHES, arch_of
from simlayout.hardware.tables.instructions import instructions_of
from simlayout.hardware.tables.provenance import provenance
from simlayout.sources import PARTS, statements
from simlayout.wording import counted

KINDS = "measured", "measured elsewhere", "documented", "disputed", "assumed"
"""Of provenance, the surest first."""


def describe(parser):
    """The parser of `simlayout chips`."""
    parser.answer(chips, """
        simlayout chips
        simlayout chips gfx942
        simlayout chips sm_90 --json
        """, """
    Without a name every chip, the lanes of a warp, the banks that serve an instruction, the bytes of shared memory that a
    CTA may have, and how many rules of its shared memory are sure in which way: measured (here, on a GPU whose record is in
    the repository), measured elsewhere (by others, who published what they counted), documented (by the vendor, or in its
    source code), disputed (sources contradict each other: answers are bounds) or assumed. With a name every rule of that
    chip and who says so: which lanes an instruction serves together, in how many banks of 4 bytes; below that its
    fragments, descriptors, tensor memory and arithmetic, how many instructions each rule is of.
    """)
    add_own(parser, "chip", nargs="?", metavar="CHIP", help="the rules of this one (default: list all)", values=arches)
    add(parser, "--json")


def chips(options):
    """`simlayout chips`: lists the architectures, or prints the rules of one."""
    if options.chip is None:
        tell(options.json, {name: _summary(chip) for name, chip in ARCHES.items()}, lambda: fit(_table()))
    else:
        chip = arch_of(options.chip)
        tell(options.json, lambda: {**_summary(chip), "rules": [_rule(row, chip) for row in instructions_of(chip).values()],
                                    "statements": [_statement(s) for s in statements(chip)]},
             lambda: fit(_rules(chip)))
    return 0


def _summary(chip):
    """What is said of a chip, as plain values."""
    rows = instructions_of(chip).values()
    kinds = [provenance(row, chip).kind for row in rows]
    return {"name": chip.name, "vendor": chip.vendor.name, "product": chip.product, "lanes": chip.lanes,
            "banks": sorted({row.banks for row in rows}), "shared_bytes": chip.shared_bytes_per_cta,
            "source": chip.source, "sure": {kind: kinds.count(kind) for kind in KINDS if kind in kinds}}


def _table():
    heads = ("chip", "product", "lanes", "banks", "bytes", "rules")
    rows = [heads]
    for chip in ARCHES.values():
        said = _summary(chip)
        banks = " or ".join(map(str, said["banks"]))
        rows.append((chip.name, chip.product, str(chip.lanes), banks, str(chip.shared_bytes_per_cta),
                     ", ".join(f"{count} {kind}" for kind, count in said["sure"].items())))
    wide = [max(len(row[i]) for row in rows) for i in range(len(heads) - 1)]
    return "\n".join("  ".join([*(cell.ljust(w) for cell, w in zip(row, wide)), row[-1]]) for row in rows)


def _rule(row, chip):
    """A rule as plain values."""
    said = provenance(row, chip)
    return {"instruction": row.name, "bytes": row.bytes, "banks": row.banks, "phases": [list(group) for group in row.groups],
            "kind": said.kind, "text": said.text, "cases": said.cases}


def _statement(one):
    """A Statement as plain values."""
    return {"part": one.part, "what": one.what, "names": list(one.names), "kind": one.said.kind, "text": one.said.text}


def _rules(chip):
    """The rules of a chip: a line each, and below them the sources, numbered."""
    rows, notes = instructions_of(chip).values(), {}
    lines = [field("chip", f"{chip.name}: {chip.product}, {chip.vendor.warp}s of {chip.lanes} lanes"),
             field("memory", f"{chip.vendor.shared_memory}, {chip.shared_bytes_per_cta} bytes per {chip.vendor.cta} "
                             f"({chip.source})"), ""]
    wide = max(len(row.name) for row in rows) + 2
    for row in rows:
        said = provenance(row, chip)
        number = _note(notes, said)
        cases = f", {counted(said.cases, 'case')}" if said.cases else ""
        lines.append(f"{row.name:<{wide}}{row.served}  {said.kind}{cases} [{number}]")
    for part in PARTS:
        own = [one for one in statements(chip) if one.part == part]
        lines += ["", part, *(_line(one, notes) for one in own)] if own else []
    lines.append("")
    return "\n".join([*lines, *(field(f"[{number}]", f"{kind}: {who}", 5) for (kind, who), number in notes.items())])


def _line(one, notes):
    """A Statement in a line, its source as a number."""
    return f"  {one.what}: {len(one.names)}, {one.said.kind} [{_note(notes, one.said)}]"


def _note(notes, said):
    """The number of a source, which is given where it has none yet."""
    return notes.setdefault((said.kind, _who(said)), len(notes) + 1)


def _who(said):
    """The text of a Provenance without the number of cases, which differs from rule to rule."""
    return re.sub(r"(explains|bounds) [\d,]+ of [\d,]+ cases; ", "", said.text)
