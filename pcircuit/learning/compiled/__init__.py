"""The compiled twin of mutual information by counting pairs; skip this folder to understand it."""
