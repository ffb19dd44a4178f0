"""Rows drawn from a learned table: under conditions, with values inside bins, in the types of the training table."""
