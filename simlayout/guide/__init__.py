"""The guide: a page for each subject. `simlayout guide` lists them, and `simlayout guide NAME` prints one.

>>> page("search").title
'Searching for a layout'
"""

from simlayout.pages import Page, Pages

__all__ = ["PAGES", "Page", "page", "pages"]

ORDER = ("layouts", "search", "testing", "own-kernels", "numba", "ptx", "compilers", "nsight", "ci", "command-line",
         "blackwell", "amd", "matmul", "choosing", "ladder", "accuracy")
"""Of reading."""

PAGES = Pages("the guide", __package__, order=ORDER)

pages, page = PAGES.all, PAGES.page
