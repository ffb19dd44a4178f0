"""Mixtures over a continuous hidden variable, as circuits of many points."""
