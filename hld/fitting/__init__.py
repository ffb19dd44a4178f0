"""From training rows to the contents of a fitted detector: columns, circuit, test, and reference counts for reports."""
