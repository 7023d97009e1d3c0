"""Packages that load nothing: a name brings its module when it is first used (PEP 562).

Which names there are, and where they come from, is said once: by the stub beside the package, `__init__.pyi`, which type
checkers read as well.
"""

import sys
from importlib import import_module
from importlib.util import find_spec


def when_used(package):
    """(__getattr__, __dir__, __all__) of a package. package: its __name__. __dir__ has what the stub has, and not what else
    happens to be loaded.

    >>> import simlayout
    >>> simlayout.parse.__module__, "parse" in dir(simlayout)
    ('simlayout.algebra.notation', True)
    """
    spec = sys.modules[package].__spec__
    homes = _imports(spec.loader.get_data(f"{spec.origin}i").decode())

    def unknown(name):
        return AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules[package])

    def get(name):
        if name.startswith("_"):
            raise unknown(name)
        whole = f"{package}.{name}"
        if homes.get(name, package) != package:
            value = vars(sys.modules[package])[name] = getattr(import_module(homes[name]), name)
            return value
        if find_spec(whole) is None:
            raise unknown(name)                          # Python adds "Did you mean"
        return import_module(whole)

    def names():
        return sorted({*public, *(name for name in vars(sys.modules[package]) if name.startswith("_"))})

    public = sorted(homes)
    return get, names, public


def _imports(stub):
    """{name: the module that it is imported from} of a stub as ruff formats it.

    >>> _imports("# some\\n\\nfrom a.b import C as C\\nfrom a import (\\n    d as d,\\n    e as e,\\n)\\n\\nx: str\\n")
    {'C': 'a.b', 'd': 'a', 'e': 'a'}
    """
    homes = {}
    for statement in stub.split("\nfrom ")[1:]:
        home, names = statement.split(" import ", 1)
        names = names[1:names.index(")")] if names.startswith("(") else names.splitlines()[0]
        homes |= {each.split(" as ")[0].strip(): home for each in names.split(",") if each.strip()}
    return homes
