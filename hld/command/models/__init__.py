"""The commands that make a model or query one on its own: fit, info, plan, sample, diff, export, demo."""
