"""The compiled twins of the moment recursions, over flat arrays; skip this folder to understand them."""
