"""The texts of a figure and where they stand, so that tests may say that none is small and that no two overlap."""

import numpy as np

from simlayout.plots.style import TEXT, text_height, text_width


def texts(figure):
    """[(text, x0, y0, x1, y1)] in inches of all texts that a figure shows; none is under 8 points."""
    figure.draw_without_rendering()
    renderer, made = figure.canvas.get_renderer(), []
    shown = [*figure.texts, *(t for legend in figure.legends for t in legend.get_texts())]
    for ax in figure.axes:
        shown += [*ax.texts, ax._left_title, *(ax.get_legend().get_texts() if ax.get_legend() else ())]
        if ax.axison:
            limits = [sorted(ax.get_xlim()), sorted(ax.get_ylim())]
            for labels, axis in ((ax.get_xticklabels(), 0), (ax.get_yticklabels(), 1)):
                shown += [t for t in labels if limits[axis][0] <= t.get_position()[axis] <= limits[axis][1]]
            shown += [ax.xaxis.label, ax.yaxis.label]
        for label in (a for a in ax.artists if hasattr(a, "texts")):
            assert label.font.get_size_in_points() >= TEXT
            before = {"left": 0, "center": 0.5, "right": 1}[label.side]
            for x, y, text in label.texts:
                px, py = ax.transData.transform((x, y)) / figure.dpi + np.array(label.shift) / 72
                wide, high = text_width(text), text_height(text) * 0.75
                made.append((text, px - before * wide, py - high / 2, px + (1 - before) * wide, py + high / 2))
    for t in shown:
        if t.get_text() and t.get_visible():
            assert t.get_fontsize() >= TEXT
            box = t.get_window_extent(renderer)
            shrink = 0.12 * box.height / figure.dpi / (t.get_text().count("\n") + 1)
            made.append((t.get_text(), box.x0 / figure.dpi, box.y0 / figure.dpi + shrink, box.x1 / figure.dpi,
                         box.y1 / figure.dpi - shrink))
    return made


def overlapping(found):
    """The pairs of texts that overlap by more than a hundredth of an inch both ways."""
    boxes = np.array([b[1:] for b in found])
    low = np.maximum(boxes[:, None, :2], boxes[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    meet = np.triu(((high - low) > 0.01).all(axis=2), 1)
    return [(found[i][0], found[j][0]) for i, j in np.argwhere(meet)]
