"""ptx: what a file of PTX text holds: entries, their parameters and instructions, and what the machine cannot execute."""

from collections import Counter
from os.path import basename

from simlayout.cli.options import add, given_text
from simlayout.cli.run_ptx import source_of
from simlayout.cli.text import field, fit, tell
from simlayout.wording import by, counted

EXAMPLES = """
    simlayout ptx transpose.ptx
    simlayout ptx transpose.ptx --json
    simlayout ptx gemm.ptx --json gemm.json               # gemm.ptx by nvcc -arch=sm_90a -O3 -lineinfo -ptx gemm.cu
    """

NOTES = """
    Of each entry: its parameters (`simlayout run` takes an --arg for each), the block that it requires, its shared memory,
    how often each instruction stands in it and in the functions that it calls, and how many shared-memory instructions stand
    on each line of the source. Instructions with a generic address are not among these, because only a run tells what they
    access. The exit code is 1 if there is anything that the machine cannot execute.
    """

ACCESSES = ("ld", "ldu", "st", "atom", "red", "ldmatrix", "stmatrix", "cp", "wmma")
"""Opcodes that can access shared memory; those do that name it, and all of the matrix ones."""


def describe(parser):
    """The parser of `simlayout ptx`."""
    parser.answer(ptx, EXAMPLES, NOTES)
    parser.add_argument("file", metavar="FILE", type=given_text, help="of PTX text; - reads it from stdin")
    add(parser, "--json")


def ptx(options):
    """`simlayout ptx`: exit code 1 if there is anything that the machine cannot execute."""
    from simlayout.ptx import read

    module = read(source_of(options.file))
    held = {"path": module.syntax.path, "version": ".".join(map(str, module.syntax.version)), "target": module.syntax.target,
            "entries": [_held(entry) for entry in module.entries.values()],
            "unsupported": [vars(one) for one in module.unsupported]}
    tell(options.json, held, lambda: _text(held))
    return 1 if module.unsupported else 0


def _held(entry):
    """What is shown of an Entry."""
    instructions, shared = _counted(entry)
    return {"name": entry.name, "called": entry.called, "parameters": [_parameter(entry, p) for p in entry.parameters],
            "required_block": entry.required_block, "most_threads": entry.most_threads,
            "required_cluster": entry.required_cluster, "shared_bytes": entry.static_shared,
            "dynamic_shared": entry.has_dynamic_shared, "functions": entry.functions[1:], "variables": _variables(entry),
            "instructions": instructions, "shared": shared}


def _variables(entry):
    """Those of global and constant memory that a source may name."""
    known = entry.module.syntax.variables
    return [{"name": name, "bytes": known[name].bytes, "space": known[name].space} for name in entry.variables
            if name in known and not name.startswith("$")]


def _parameter(entry, parameter):
    return {"name": parameter.name, "type": None if parameter.shape else parameter.type, "bytes": parameter.bytes,
            "align": parameter.align, "text": entry.described(parameter)}


def _counted(entry):
    """({instruction: how often it stands there}, its shared-memory instructions by line)."""
    instructions, shared = Counter(), Counter()
    for name in entry.functions:
        for statement in entry.module.syntax.functions[name].body:
            if not hasattr(statement, "opcode"):
                continue                                 # a label
            instructions[statement.name] += 1
            if accesses_shared(statement):
                site = statement.site
                file, line = (entry.module.syntax.path, statement.line) if site is None else (site.file, site.line)
                shared[file, line, statement.name] += 1
    rows = [{"file": file, "line": line, "instruction": name, "count": n}
            for (file, line, name), n in sorted(shared.items())]
    return dict(sorted(instructions.items(), key=lambda item: (-item[1], item[0]))), rows


def accesses_shared(instruction):
    """Whether an instruction says that it accesses shared memory."""
    if instruction.opcode not in ACCESSES:
        return False
    named = any(modifier.partition("::")[0] == "shared" for modifier in instruction.modifiers)
    return named or instruction.opcode in ("ldmatrix", "stmatrix")


# ---- as text -----------------------------------------------------------------------------------------------------------

def _text(held):
    lines = [field("module", f"{held['path']}: PTX {held['version']}, {held['target']}")]
    for entry in held["entries"]:
        lines += ["", *_entry(entry)]
    if not held["entries"]:
        lines.append(field("entries", "none"))
    lines.append("")
    if held["unsupported"]:
        lines.append(f"what the machine cannot execute ({counted(len(held['unsupported']), 'instruction')})")
        lines += [fit(f"  line {one['line']:<6} {one['times']:>4} x  {one['name']}: {one['reason']}")
                  for one in held["unsupported"]]
    else:
        lines.append(field("unsupported", "nothing: the machine can execute all of it"))
    return "\n".join(lines)


def _entry(entry):
    called = entry["called"]
    yield field("entry", called if called == entry["name"] else f"{called}, which is {entry['name']}")
    yield field("parameters", ", ".join(p["text"] for p in entry["parameters"]) or "none")
    yield field("block", _block(entry))
    yield field("shared", counted(entry["shared_bytes"], "byte") + ", and dynamic" * entry["dynamic_shared"])
    if entry["variables"]:
        yield field("variables", ", ".join(f"{one['name']}: {counted(one['bytes'], 'byte')} of .{one['space']}"
                                           for one in entry["variables"]))
    if entry["functions"]:
        yield field("calls", ", ".join(entry["functions"]))
    total = sum(entry["instructions"].values())
    together = "\N{NO-BREAK SPACE}"                     # a name stays beside its number
    listed = ", ".join(f"{name}{together}{n}" for name, n in entry["instructions"].items())
    yield field("instructions", f"{total}: {listed}").replace(together, " ")
    if entry["shared"]:
        yield field("", "shared memory, by line:")
    for row in entry["shared"]:
        yield field("", f"{basename(row['file'])}:{row['line']}: {row['count']} x {row['instruction']}")


def _block(entry):
    if entry["required_block"]:
        text = by(entry["required_block"]) + ", required"
    else:
        text = f"at most {entry['most_threads']} threads" if entry["most_threads"] else "any"
    cluster = by(entry["required_cluster"] or ())
    return text + (f"; clusters of {cluster} CTAs, required" if cluster else "")
