"""The explorer: a page on 127.0.0.1 that shows a tile, its banks, phases and counts at once.

`state` is what the page asks, as text that the grammar reads; `model` answers it with what the rest of simlayout computes;
`page` is the HTML, on its own or with answers in it; `server` serves both and nothing else. JavaScript only draws.

>>> from simlayout.explorer.model import answer
>>> from simlayout.explorer.state import State
>>> answer(State(layout="(16,64):(64,1)"))["counts"]["excess"]
[28, 28, 28, 28]
"""
