"""Mixtures of thousands of products of columns: their circuits, and kernels around rows."""
