"""What a file is that does not begin as PTX does, by its ending, and how to get PTX of it."""

from pathlib import PurePath

_KINDS = (
    # endings, what it is, what to do; {0}: the file, {1}: the same without its ending
    ((".ipynb",), "a notebook",
     "make a program of it, `jupyter nbconvert --to script {0}`, take out its lines with get_ipython(), and `simlayout run "
     "{1}.py`; or call simlayout.simulate(kernel)[grid, block](...) in a cell"),
    ((".py",), "a program in Python", "`simlayout run {0}` runs it"),
    ((".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp"), "source of CUDA C++",
     "compile it, `nvcc -arch=sm_90a -O3 -lineinfo -ptx {0} -o {1}.ptx`, which needs no GPU (`simlayout guide ptx` says "
     "how pip installs nvcc)"),
    ((".cubin", ".fatbin", ".o", ".so", ".a", ".obj", ".exe", ".dll"), "compiled code",
     "`cuobjdump -ptx {0}` prints the PTX in it, if any was kept; or compile the source by `nvcc -lineinfo -ptx`"),
    ((".ttir", ".ttgir", ".llir", ".ll"), "another language of a compiler",
     'take what it makes of it in the end; of Triton that is .asm["ptx"]'),
)
_BY_ENDING = {ending: (kind, cure) for endings, kind, cure in _KINDS for ending in endings}


def is_known(path: str) -> bool:
    """Whether the ending of a file tells what it is other than PTX."""
    return _ending(path) in _BY_ENDING


def what_instead(path: str) -> str:
    """A sentence that says what a file is and what to do; "" for PTX, and for a text that is in no file.

    >>> what_instead("double.py")
    'double.py is a program in Python, not PTX: `simlayout run double.py` runs it'
    >>> what_instead("double.txt")
    "double.txt does not begin with '.version', as PTX does: name a file of PTX, or for `simlayout run` a program, FILE.py"
    >>> what_instead("double.ptx"), what_instead("<text>")
    ('', '')
    """
    if path == "<text>" or _ending(path) == ".ptx":
        return ""
    if not is_known(path):
        return (f"{path} does not begin with '.version', as PTX does: name a file of PTX, or for `simlayout run` a program, "
                "FILE.py")
    kind, cure = _BY_ENDING[_ending(path)]
    return f"{path} is {kind}, not PTX: {cure.format(path, PurePath(path).with_suffix(''))}"


def _ending(path: str) -> str:
    return PurePath(path).suffix.lower()
