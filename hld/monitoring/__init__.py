"""Streams: a test that stays valid however often and however long one looks at it."""
