"""The test itself: a reference, metrics of the difference from it and a null put together, and a batch judged by them.

`hld.testing.plain` has the paper's as it stands there, `hld.testing.goodness_of_fit` the test and what is computed
before a batch is seen, and `hld.testing.verdict` what is made of a batch.
"""
