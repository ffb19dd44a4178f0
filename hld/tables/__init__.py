"""A table of any kind in memory, frames, mappings and streams among them, as named columns of cells."""
