"""Circuits in, circuit or number out: products, overlaps, marginals."""
