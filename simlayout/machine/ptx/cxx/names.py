"""What functions and variables are called in C++, of their mangled names."""

import re
from collections import Counter
from collections.abc import Iterable

from simlayout.machine.ptx.cxx.mangled import SIZED, Mangled, read


def cxx_name(mangled: str) -> str:
    """A function as C++ writes it, with namespaces and template arguments, without parameters; as it is where it is not
    mangled, or in a way that is not read here.

    >>> cxx_name("_Z6rowsumIdLi32EEvPKT_PS0_"), cxx_name("_ZN4mine4foldILb1EPKfEEvi"), cxx_name("plain")
    ('rowsum<double, 32>', 'mine::fold<true, const float*>', 'plain')
    """
    return read(mangled, Mangled.name) or mangled


def cxx_names(mangled: Iterable[str]) -> dict[str, str]:
    """{mangled name: what to show of it}: its C++ name, where no other has the same.

    >>> cxx_names(["_Z1fPf", "_Z1fPd", "_Z1gIfEvv"])
    {'_Z1fPf': '_Z1fPf', '_Z1fPd': '_Z1fPd', '_Z1gIfEvv': 'g<float>'}
    """
    known = {name: cxx_name(name) for name in mangled}
    times = Counter(known.values())
    return {name: shown if times[shown] == 1 else name for name, shown in known.items()}


def brief_name(mangled: str, most: int = 100) -> str:
    """`cxx_name`, without its template's arguments if it has more than so many letters, as those of CUTLASS have.

    >>> brief_name("_Z6rowsumIdLi32EEvPKT_PS0_"), brief_name("_Z6rowsumIdLi32EEvPKT_PS0_", 10)
    ('rowsum<double, 32>', 'rowsum<...>')
    """
    name = cxx_name(mangled)
    head, opened, _ = name.partition("<")
    return f"{head}<...>" if opened and len(name) > most else name


def variable_name(symbol: str) -> str:
    """What a variable is called in its source: one of C++, which may be local to a function, or of another language.

    >>> variable_name("_ZZ6rowsumIfEvPT_E4tile"), variable_name("_ZZ4kernE4tile_0"), variable_name("_ZN4mine4flagE")
    ('tile', 'tile', 'flag')
    >>> variable_name("_ZN12_GLOBAL__N_15countE")      # of a namespace without a name, which ends in a digit
    'count'
    """
    if not symbol.startswith("_Z"):
        return symbol
    for sized in reversed(list(re.finditer(rf"(?={SIZED.pattern})", symbol))):      # from each digit on
        start = sized.end(1)
        end = start + int(sized[1])
        if start < end <= len(symbol) and re.fullmatch(r"E?(_\d+_?|__\d+_)?", symbol[end:]):
            return symbol[start:end]
    return symbol


def same_name(one: str, other: str) -> bool:
    """Whether two names of C++ are one, whatever their spaces; the second may lack namespaces of the first, and be written
    as c++filt or Nsight Compute writes it.

    >>> same_name("mine::fold<true, const float*>", "fold< true,const float * >"), same_name("unfold", "fold")
    (True, False)
    >>> same_name("fold<float, 32>", "void fold<float, 32u>(float*)"), same_name("fold<32>", "void fold<(int)32>(T1 *)")
    (True, True)
    """
    one, other = map(_dense, (one, other))
    return one == other or one.endswith("::" + other)


def is_in(part: str, name: str) -> bool:
    """Whether a text is a part of a name of C++, whatever their spaces.

    >>> is_in("double,32", "rowsum<double, 32>"), is_in("float", "rowsum<double, 32>")
    (True, False)
    """
    return _dense(part) in _dense(name)


def _dense(name):
    literal = r"\((?:unsigned |signed |long |short |int|char|bool)+\)(?=-?\d)|(?<=\d)[ul]+(?=[,>])"
    name = re.sub(literal + r"|^void ", "", name.strip())
    name = re.sub(r"(?<=[<, ])([\w:]+) const(?=[ *&,>])", r"const \1", name)
    return re.sub(r"\s+|(?<!^)\([^()]*\)$", "", name)
