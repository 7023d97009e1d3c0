"""Packages that load nothing: a name brings its module when it is first used (PEP 562)."""

import sys
from importlib import import_module


def when_used(package, modules, also=()):
    """(__getattr__, __dir__, __all__) of a package.

    package: its __name__; modules: {module of it: names in that which are names of the package too}; also: modules that
    belong to __all__ themselves.
    """
    home = {name: module for module, names in modules.items() for name in names}
    public = sorted((*home, *also))

    def get(name):
        if name in home:
            value = vars(sys.modules[package])[name] = getattr(import_module(f"{package}.{home[name]}"), name)
            return value
        if name in modules:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    own = [module for module in modules if "." not in module]
    return get, lambda: sorted({*vars(sys.modules[package]), *own, *public}), public
