"""How hazards of a launch are looked for; `attempts` says in which order.

    doubts, understood     a quick look, which misses nothing and may doubt, and the programs that it understands
    ordered                the same with clocks, of programs with mbarriers and engines
    told                   the shadows look again, until they have told what was in doubt
    unwritten, unset       whether it matters what is in memory, or in registers, that nothing has written
"""
