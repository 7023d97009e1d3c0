"""The stages of a kernel in time: which chunk of K is copied into which stage, and when it is read, on the CPU machine.

The machine has no clock but the order in which warps execute. A clock here is a wavefront, because shared memory serves
those of all warps of a CTA one after the other. Copies count by their destinations, as in the clocks of a `Prediction`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from simlayout.arguments import typed
from simlayout.errors import SimlayoutError, refuse, require
from simlayout.plots import style
from simlayout.plots.aliases import Axes
from simlayout.plots.kinds import Kind
from simlayout.plots.library import matplotlib, shown_figure
from simlayout.plots.pipeline_tma import of_tma_kernel
from simlayout.plots.place import one_axes
from simlayout.plots.timelines import Span, Timeline, clocks, wavefronts
from simlayout.wording import counted

COLOURS = {"copy": style.COLOURS[1], "wait": style.EMPTY, "read": style.COLOURS[0], "held": style.COLOURS[4],
           "store": style.COLOURS[2]}
"""Of the kinds of Spans, in the order of the legend."""

WIDE, ROW, HEAD, FOOT = 11, 0.42, 0.45, 0.85       # inches: the figure, a stage, the title, the axis and the legend
ACROSS = 3                                  # entries in a row of the legend
SECOND = "dotted: the second tile of C"
FEWEST = 0.012                              # of the width: spans from which on a number has room


def run_watched(work):
    """What a Work executes on the CPU machine, as a list of (access name, instruction, byte addresses int64 [32]), in order.

    Only shared-memory instructions of threads are there: no TMA, no wgmma. Hazards are not looked for.
    """
    from simlayout.machine import execute, watching

    events = []
    with watching(events.append):
        execute(work, hazards="off")
    return [(e.access, e.instruction, e.addresses) for e in events if e.kind == "access"]


@typed()
def timeline(events: Iterable[tuple], copies: Mapping[str, Mapping[int, int]], loads: Mapping[str, Mapping[int, int]],
             title: str = "") -> Timeline:
    """The Timeline of events (of `run_watched`).

    copies, loads: {access name: {byte address of its lane 0: stage}} of the accesses that fill stages, and that read them. A
    stage is copied into, read, copied into again: chunks of K are counted in that order over all stages. Raises
    SimlayoutError where nothing is copied.

    >>> at = np.arange(32) * 4
    >>> line = timeline([("copy", "st.shared.b32", at), ("load", "ld.shared.b32", at)], {"copy": {0: 0}}, {"load": {0: 0}})
    >>> [(span.kind, span.start, span.end) for span in line.spans]
    [('copy', 0, 1), ('read', 1, 2)]
    """
    times = clocks(wavefronts([(name, at, None) for _, name, at in events]))
    runs: list[list[Any]] = []                           # [stage, kind, start, end]
    last: dict[int, list[Any]] = {}                      # stage -> its last run
    for (name, _, addresses), start, end in zip(events, times, times[1:]):
        kind, stages = ("copy", copies[name]) if name in copies else ("read", loads.get(name))
        if stages is None:
            continue
        stage = stages[int(addresses[0])]
        run = last.get(stage)
        if run is None or run[1] != kind:
            run = last[stage] = [stage, kind, int(start), int(end)]
            runs.append(run)
        run[3] = int(end)
    if not any(kind == "copy" for _, kind, *_ in runs):
        raise SimlayoutError(f"none of the accesses {', '.join(copies)} was executed: name those of the plan")
    return Timeline(title, max(stage for stage, *_ in runs) + 1, int(times[-1]), tuple(_spans(runs)))


def stages_of(access):
    """{byte address of lane 0: stage} over the domain of an Access whose loops have a "stage"."""
    *loops, threads = access.offsets().shape
    first = access.addresses()[:, 0].reshape(*loops, threads // 32)
    stage = np.indices(first.shape)[list(access.domain).index("stage") - 1]
    return dict(zip(first.ravel().tolist(), stage.ravel().tolist()))


def _spans(runs):
    """Spans with their chunks, and between a copy and the reading of it what waits."""
    chunk, holds, spans = 0, {}, []
    for stage, kind, start, end in runs:
        if kind == "copy":
            holds[stage] = chunk, end
            chunk += 1
        elif stage in holds and holds[stage][1] < start and spans:
            spans.append(Span(stage, "wait", holds[stage][0], holds[stage][1], start))
        spans.append(Span(stage, kind, holds.get(stage, (0,))[0], start, end))
    return sorted(spans, key=lambda s: (s.start, s.stage))


@typed()
def of_kernel(kernel: Any, steps: int = 8) -> Timeline:
    """The Timeline of a GEMM kernel of `cuda_kernels`, for one tile of C and so many K steps.

    Its stages are those of the accesses whose loops have a "stage", or those that TMA fills: then it is a TmaTimeline, and
    of two tiles for a persistent kernel. Raises SimlayoutError where there are none.
    """
    if not hasattr(kernel, "plan"):
        refuse("Kernel", "of_kernel", kernel)
    if hasattr(kernel.plan, "operands"):
        return of_tma_kernel(kernel, steps)
    rows, columns, depth = kernel.plan.tile
    K = depth * steps
    work = kernel.work(*(np.zeros(shape, np.float16) for shape in ((rows, K), (K, columns))))
    fitted = work.kernel
    staged = [a for a in getattr(fitted.plan, "each_step", ()) if "stage" in a.domain]
    copies, loads = ({a.name: stages_of(a) for a in staged if a.is_store == stores} for stores in (True, False))
    if not copies:
        raise SimlayoutError(f"{kernel.name} has no stages that its threads copy into, or TMA: draw one that has")
    events = run_watched(work)
    title = (f"{kernel.name}, {kernel.dtypes[0]}, {fitted.plan.stages} stages, {steps} K steps: shared memory of one CTA in "
             "time")
    return timeline(events, copies, loads, title)


def pipeline(timeline: Timeline, ax: Axes | None = None) -> Axes:
    """Draws a Timeline: a row per stage, clocks across; returns the Axes.

    ax: where to draw; None makes a figure of the right size (`ax.figure`).

    >>> ax = pipeline(Timeline("one", 1, 4, (Span(0, "copy", 0, 0, 1), Span(0, "read", 0, 2, 4))))
    >>> [text for *_, text in ax.artists[0].texts]
    ['0', '0']
    """
    require(Timeline, "pipeline", timeline)
    shown = [kind for kind in COLOURS if any(s.kind == kind for s in timeline.spans)]
    rows = timeline.rows
    if (ax := one_axes(ax)) is None:
        foot = FOOT + style.LINE * (len(shown) // ACROSS)
        high = HEAD + 0.2 * timeline.title.count("\n") + foot + ROW * len(rows)
        ax = shown_figure(figsize=(WIDE, high)).add_axes((0.07, foot / high, 0.91, ROW * len(rows) / high))
    shapes = [[(s.start, y - 0.4), (s.end, y - 0.4), (s.end, y + 0.4), (s.start, y + 0.4)] for s in timeline.spans
              for y in (s.stage,)]
    make = matplotlib().collections.PolyCollection
    ax.add_collection(make(shapes, facecolor=[COLOURS[s.kind] for s in timeline.spans], edgecolor="0.4", linewidth=0.6,
                           clip_on=False), autolim=False)
    second = [shape for shape, s in zip(shapes, timeline.spans, strict=True) if timeline.tile(s) % 2]
    if second:
        ax.add_collection(make(second, facecolor="none", edgecolor="0.55", hatch="...", linewidth=0, clip_on=False),
                          autolim=False)
    style.add_labels(ax, [((s.start + s.end) / 2, s.stage, timeline.label(s)) for s in timeline.spans
                          if timeline.label(s) and s.end - s.start > FEWEST * timeline.clocks])
    ax.set(xlim=(0, max(s.end for s in timeline.spans)), ylim=(len(rows) - 0.5, -0.5))
    ax.set_yticks([])
    ax.tick_params(labelsize=style.TEXT, length=2)
    style.add_labels(ax, [(0, i, name) for i, name in enumerate(rows)], "right", (-4, 0))
    ax.set_xlabel(timeline.axis, fontsize=style.TEXT)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_title(timeline.title, fontsize=style.TITLE, loc="left", parse_math=False)
    entries = [(style.patch(facecolor=COLOURS[kind], edgecolor="0.4"), timeline.meaning[kind]) for kind in shown]
    if second:
        entries.append((style.patch(facecolor="white", edgecolor="0.55", hatch="..."), SECOND))
    style.legend(ax, entries, loc="upper left", bbox_to_anchor=(0, -0.36 / (ROW * len(rows))), ncols=ACROSS)
    return ax


def _draw_pipeline(request):
    drawn = of_kernel(request.kernel(), request.options.steps)
    end = max(span.end for span in drawn.spans)
    after = f", and {drawn.clocks - end} more for C" * (end < drawn.clocks)
    return pipeline(drawn), f"{counted(drawn.stages, 'stage')}, {end} clocks{after}"


PIPELINE_KIND = Kind("pipeline", "a kernel with stages: what threads or TMA copy, what is read and released when, as the "
                     "CPU machine runs it", ("mma_permuted --kind pipeline --stages 3 -o pipeline.svg",
                                         "wgmma_specialized --kind pipeline --steps 8 -o tma.svg"), _draw_pipeline,
                     ("stages", "steps"))
