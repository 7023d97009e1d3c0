"""Which layout serves some accesses: `search`, over families of swizzles, rotations, paddings and F2 maps; `rearrange`,
which leaves the data where they are; `search_plan`, for whole kernels."""

from simlayout.synthesis.cost import Cost, better_layout, costs
from simlayout.synthesis.found import Candidate, Found, Share
from simlayout.synthesis.kernels import TileFound, plain_tile, search_plan
from simlayout.synthesis.rearrange import Rearrangement, rearrange
from simlayout.synthesis.search import FAMILIES, search

__all__ = ["FAMILIES", "Candidate", "Cost", "Found", "Rearrangement", "Share", "TileFound", "better_layout", "costs",
           "plain_tile", "rearrange", "search", "search_plan"]
