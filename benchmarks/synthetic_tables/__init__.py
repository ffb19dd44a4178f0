"""Rows drawn by hld and by the Gaussian copula of SDV, on three tables, judged by SDV's own measures."""
