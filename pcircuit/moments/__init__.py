"""Exact moments of the likelihoods of units: mean, covariance and its traces under the circuit's own distribution."""
