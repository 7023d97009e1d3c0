"""What a warp of PTX does with memory: where things lie (`space`, `heap`, `maps`), what an access does there (`accesses`,
`local`, `cluster`, `map_twins`, `updates`, `half_words`), whether sums depend on the order of atomics (`sums`), and what
accesses order (`ordering`, `published`). `held` has the registers and places of all warps of a CTA, and `marks` say who
touched a cell last, as the compiled loop wants them."""
