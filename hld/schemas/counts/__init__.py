"""Exact tests of counts: shares of missing and of new values, and the smallest p-value of many such tests."""
