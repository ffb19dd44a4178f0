"""Benchmarks: each module is one command, ``python -m benchmarks.<name>``, that prints a table."""
