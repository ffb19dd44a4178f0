"""Hierarchical likelihood vectors of rows, with holes filled, the distance of their means; other numbers of rows."""
