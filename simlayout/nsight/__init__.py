"""Nsight Compute's reports: what a GPU counted on each line, and the prediction beside it.

`reports` reads launches from a report (.ncu-rep, by NVIDIA's package ncu_report) or from the CSV of its source page
(`source_page`); `predicted` reads what `simlayout run --json` wrote; `compared` puts both side by side.
"""

from simlayout.lazy import when_used

__getattr__, __dir__, __all__ = when_used(__name__)
