"""Hierarchical likelihood vectors: of rows, with holes filled, and the distance of their means; other numbers of rows."""
