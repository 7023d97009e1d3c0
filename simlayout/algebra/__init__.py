"""What layouts are: shape:stride layouts, swizzles, rotations, their composition, and their notation."""

from simlayout.lazy import when_used

_MODULES = {
    "composed": ("Composed", "Layer", "compose"),
    "dtypes": ("DTYPES", "DType", "dtype_of"),
    "f2": ("F2Map",),
    "layout": ("Layout", "byte_address", "coalesce", "composition", "make_layout"),
    "notation": ("parse",),
    "swizzle": ("Rotation", "Swizzle"),
    "tile": ("Tile",),
    "tiling": ("complement", "left_inverse", "logical_divide", "logical_product", "right_inverse", "tiled_divide",
               "zipped_divide"),
}
"""The modules of the package, each with the names that bring it when they are first used."""

__getattr__, __dir__, __all__ = when_used(__name__, _MODULES)
