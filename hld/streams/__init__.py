"""Rows of a service, one after the other, among held-out rows: alarms with a guarantee on real rows."""
