"""Which layout serves some accesses: `search`, over families of swizzles, rotations, paddings and F2 maps; `rearrange`,
which leaves the data where they are; `search_plan`, for whole kernels."""

from simlayout.synthesis.cost import Cost, better_layout, costs
from simlayout.synthesis.kernels import TileResult, plain_tile, search_plan
from simlayout.synthesis.rearrange import Rearrangement, rearrange
from simlayout.synthesis.result import Candidate, SearchResult, Share
from simlayout.synthesis.search import ALL_FAMILIES, FAMILIES, search

__all__ = ["ALL_FAMILIES", "FAMILIES", "Candidate", "Cost", "SearchResult", "Rearrangement", "Share", "TileResult",
           "better_layout", "costs", "plain_tile", "rearrange", "search", "search_plan"]
