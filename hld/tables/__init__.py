"""Tables of any kind, in memory and in files, as columns of cells and as categories; and rows drawn from categories."""
