"""Whole programs and test-suites of others, run with launches on the CPU machine."""
