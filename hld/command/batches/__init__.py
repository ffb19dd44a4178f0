"""The commands that set rows against a model: test, explain, summarize, audit, monitor, serve."""
