"""Batches compared with one another: two at once, or many as a matrix of distances."""
