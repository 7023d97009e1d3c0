"""Figures: banks, layouts, accesses, fragments, TMA, plans, pipelines, and measured speed.

Each is a function that takes `ax=` or makes a figure of the right size, and returns the Axes; `comparison`, `copy_map`,
`layout_map`, `tma_modes` and `together` draw several panels: they return a tuple of Axes, one per panel in order, and take
one Axes for all panels or one for each. `save` takes what they return. What is drawn comes from functions of its own, which
return plain data (a `Panel` of boxes, mostly). Matplotlib loads when the first figure is drawn.
"""

from simlayout.hardware.banks.phases import Phase, Served, phases
from simlayout.plots.accumulation import accumulated, lost_by_depth
from simlayout.plots.banks import BANKS_KIND, COMPARE_KIND, access, banks, comparison
from simlayout.plots.copies import COPY_KIND, copies, copy_map, in_memory, touched
from simlayout.plots.files import close, rendered, save
from simlayout.plots.fragments import FRAGMENT_KIND, choice, fragment, outline, table
from simlayout.plots.lanes import PHASES_KIND, matrix_phases, phase_rows
from simlayout.plots.layouts import LAYOUT_KIND, layout, layout_map, logical, memory
from simlayout.plots.matrix import F2_KIND, bit_matrix, matrix
from simlayout.plots.order import order
from simlayout.plots.panel import Box, Panel, draw, together
from simlayout.plots.performance import Bar, Dot, ladder, share_by_size, share_by_waves
from simlayout.plots.pipeline import PIPELINE_KIND, of_kernel, pipeline, timeline
from simlayout.plots.pipeline_tma import tma_timeline
from simlayout.plots.sheet import PLAN_KIND, Sheet, plan, plan_sheet, sheet, sheet_of, sheets
from simlayout.plots.timelines import Timeline, TmaTimeline
from simlayout.plots.tma import TMA_KIND, atom, landing, tma, tma_modes
from simlayout.plots.tmem import TMEM_KIND, accumulator_panel
from simlayout.plots.wgmma import operand_panel

__all__ = ["Bar", "Box", "Dot", "Panel", "Phase", "Served", "Sheet", "Timeline", "TmaTimeline", "access", "accumulated",
           "accumulator_panel", "atom", "banks", "bit_matrix", "choice", "close", "comparison", "copies", "copy_map",
           "draw", "fragment", "in_memory", "ladder", "landing", "layout", "layout_map", "logical", "lost_by_depth",
           "matrix", "matrix_phases", "memory", "of_kernel", "operand_panel", "order", "outline", "phase_rows", "phases",
           "pipeline", "plan", "plan_sheet", "rendered", "save", "share_by_size", "share_by_waves", "sheet", "sheet_of",
           "sheets", "table", "timeline", "tma", "tma_modes", "tma_timeline", "together", "touched"]

KINDS = {kind.name: kind for kind in (BANKS_KIND, COMPARE_KIND, LAYOUT_KIND, PHASES_KIND, FRAGMENT_KIND, TMA_KIND, TMEM_KIND,
                                      F2_KIND, COPY_KIND, PLAN_KIND, PIPELINE_KIND)}
"""Name -> Kind of every figure that `simlayout plot --kind` draws, in the order of its help."""
