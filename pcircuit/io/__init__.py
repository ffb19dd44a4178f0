"""Circuits as files, checked on reading: archives without pickle, and the formats of other programs."""
