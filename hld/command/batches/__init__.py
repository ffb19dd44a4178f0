"""The commands that test rows against a model: test, explain, summarize, audit, monitor, serve."""
