"""Checks that several rooms share: the level, the seed and the verdict of a test, and what files hold."""
from hld.checks.levels import check_alpha, check_verdict, seed_of
from hld.checks.saved import LARGEST, check_names, finite_array, saved_count, saved_number, under_prefix, with_prefix

__all__ = ["LARGEST", "check_alpha", "check_names", "check_verdict", "finite_array", "saved_count", "saved_number",
           "seed_of", "under_prefix", "with_prefix"]
