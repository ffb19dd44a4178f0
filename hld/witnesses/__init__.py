"""What a test says about a batch: the verdict, and the variables and dependences that moved."""
