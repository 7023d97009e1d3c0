"""Which configuration of a kernel for Hopper multiplies a shape fastest: candidates, an estimate of time, the choice."""
