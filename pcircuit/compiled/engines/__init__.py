"""Which engine does a job: NumPy until kernels pay, and how kernels are compiled meanwhile."""
