"""What changed dependences say: the mean association of each pair, and the column that most likely moved."""
