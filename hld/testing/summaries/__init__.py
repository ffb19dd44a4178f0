"""A batch as a few sums: computed where its rows are, added up, and tested where the model is."""
