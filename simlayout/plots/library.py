"""Matplotlib, loaded when a figure is drawn."""

from simlayout.errors import SimlayoutError


def matplotlib():
    """The module, with what the figures use of it; SimlayoutError with the pip command if it is not installed."""
    try:
        import matplotlib.axes
        import matplotlib.collections
        import matplotlib.figure
        import matplotlib.legend_handler
        import matplotlib.lines
        import matplotlib.patches
        import matplotlib.ticker
    except ImportError:
        raise SimlayoutError('figures need Matplotlib: pip install "simlayout[plot]"') from None
    return matplotlib


def lone_figure(**options):
    """A figure without a window or a place in pyplot: for files."""
    return matplotlib().figure.Figure(**options)


def shown_figure(**options):
    """A figure of pyplot, which a notebook shows by itself and `pyplot.show()` in a window."""
    matplotlib()
    from matplotlib import pyplot

    return pyplot.figure(**options)
