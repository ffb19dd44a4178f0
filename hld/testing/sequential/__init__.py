"""The test that may be looked at after every row: rows of a stream ranked among reference rows, with bets."""
