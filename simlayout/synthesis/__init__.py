"""Which layout serves some accesses: `search`, over families of swizzles, rotations and paddings."""

from simlayout.synthesis.search import Candidate, Found, search

__all__ = ["Candidate", "Found", "search"]
