"""The commands that make a model or ask one alone: fit, info, plan, sample, diff, export, demo."""
