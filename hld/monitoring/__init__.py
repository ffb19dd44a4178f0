"""Streams: a test that may be looked at after every row, for ever."""
