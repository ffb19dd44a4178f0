"""A fitted detector as the header and the arrays of a file, and back again with every part checked."""
