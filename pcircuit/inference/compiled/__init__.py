"""The compiled twin of scores row by row; skip this folder to understand them."""
