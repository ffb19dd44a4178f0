"""Power of tests for a shifted batch: kinds of shift x data sets x batch sizes x tests, all at equal size.

`python -m benchmarks.power --help`; what a run found is in `benchmarks/power/README.md`.
"""
