"""What a circuit says about rows: likelihoods, the likelihoods of single units, expected flows, samples."""
