"""Circuits as files: archives without pickle, written whole or not at all, and checked on reading."""
