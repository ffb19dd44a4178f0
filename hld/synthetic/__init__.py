"""Rows drawn from a learned table: under conditions, with values inside bins, of the types they had."""
