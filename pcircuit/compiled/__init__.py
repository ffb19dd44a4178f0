"""Compiled code: the packed form of a circuit, and the Numba twins of the passes over rows.

Skip this folder to understand the algorithms: each kernel names its readable twin, and ``PCIRCUIT_ENGINE=numpy`` runs
everything without it.
"""
