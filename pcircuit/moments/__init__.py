"""Exact moments of the likelihoods of units: mean, covariance and its traces, and means given a part of a row."""
