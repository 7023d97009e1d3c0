"""A folder with PTX for the command line: a transpose, with its source, and a kernel of one array."""

from pathlib import Path

from ptx_texts import WRITE, module

import simlayout.guide

GUIDE = Path(simlayout.guide.__file__).parent


def filled(folder):
    """The folder, with transpose.cu, what nvcc made of it, and one.ptx."""
    for name in ("transpose.cu", "transpose.ptx"):
        (folder / name).write_text((GUIDE / name).read_text())
    (folder / "one.ptx").write_text(module(WRITE, ["u64"]))
    return folder


def files(folder):
    """The names of what else is there."""
    return {path.name for path in folder.iterdir()} - {"transpose.cu", "transpose.ptx", "one.ptx"}
