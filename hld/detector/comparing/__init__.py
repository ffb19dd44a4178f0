"""Batches compared: with one another, and with edited ones, to see whether a detector keeps what it promises."""
