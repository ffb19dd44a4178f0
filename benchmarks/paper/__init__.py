"""The experiments of the HLD paper, run again: ``python -m benchmarks.paper`` and ``... report``."""
