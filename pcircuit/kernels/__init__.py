"""Compiled code: which engine does a job, the packed form of a circuit, and the Numba twins of the passes over rows.

Skip all but `engine` to understand the algorithms: each kernel names its readable twin, and
``PCIRCUIT_ENGINE=numpy`` runs everything without it.
"""
