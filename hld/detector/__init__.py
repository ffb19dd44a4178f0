"""From training rows to a fitted detector, from tables and chunks of them to its verdicts, and its file."""
