"""The instructions of PTX as tables."""
