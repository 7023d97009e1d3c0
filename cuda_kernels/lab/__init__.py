"""Experiments on a GPU and what is fitted to their records; not in the wheel."""
