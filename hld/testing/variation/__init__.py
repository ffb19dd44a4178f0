"""Batches that differ by nature: judged among groups, or stretches of time, like them."""
