"""Who does the work at hand: NumPy until kernels pay, and how kernels are compiled meanwhile."""
