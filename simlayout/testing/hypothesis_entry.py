"""What Hypothesis calls when it is imported, by an entry point (see pyproject.toml): it then knows how to draw our types."""

KINDS = {"Layout": "layouts", "Swizzle": "swizzles", "Rotation": "rotations", "Composed": "tiles", "Access": "accesses"}
"""Name of a type of simlayout -> its strategy in simlayout.testing.strategies."""


def register():
    """Registers a strategy for every type of KINDS, so that `strategies.from_type(simlayout.Swizzle)` and annotated
    arguments of `given` draw them. The strategies themselves are imported when the first is drawn.

    >>> from hypothesis import strategies
    >>> import simlayout as sl
    >>> from simlayout.testing import smallest
    >>> register()
    >>> smallest(strategies.from_type(sl.Swizzle), lambda swizzle: swizzle.bits == 2)
    Swizzle(2, 0, 2)
    """
    from hypothesis import strategies as st

    import simlayout

    for kind, name in KINDS.items():
        st.register_type_strategy(getattr(simlayout, kind), _strategy(name))


def _strategy(name):
    """A function from the type, which Hypothesis gives, to its strategy."""

    def strategy(kind):
        from simlayout.testing import strategies

        limits = {"kinds": ("rotated", "swizzled")} if name == "tiles" else {}     # the other tiles are Layouts
        return getattr(strategies, name)(**limits)

    return strategy
