"""Rows of a service, one after the other, among rows kept from learning: alarms with a guarantee on real rows."""
