"""Where circuits come from: structures learned from data or drawn at random, and parameters fitted by EM."""
