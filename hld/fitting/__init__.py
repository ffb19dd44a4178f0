"""From training rows to what a fitted detector holds: columns, circuit, test, and what batches are reported against."""
