"""Circuits in, circuit or number out: products, marginals, conditionals, divergences, most probable states."""
