"""A batch as a few sums: made where its rows are, added up, and tested where the model is."""
