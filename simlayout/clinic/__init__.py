"""The clinic: questions that users asked about bank conflicts and layouts, worked and executed, a page for each.

A page is Markdown whose examples are doctests; the tests run all of them. `simlayout clinic` lists the pages, and
`simlayout clinic NAME` prints one.

>>> len(pages()), [p.name for p in pages()][:4]
(28, ['cudnn-221', 'cutlass-1443', 'cutlass-1688', 'cutlass-1882'])
>>> page("hgemm-4").title
'The 16x16 tile of halves that costs ldmatrix.x2.trans two conflicts'
"""

from simlayout.pages import Page, Pages

__all__ = ["PAGES", "Page", "page", "pages"]

HEADINGS = ("The question", "What happens", "Why", "Which layout helps", "What we could not reproduce")
"""Of every page, in this order."""

PAGES = Pages("the clinic", __package__, "pages")

pages, page = PAGES.all, PAGES.page
