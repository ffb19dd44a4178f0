"""Where circuits come from: structures learned from data or drawn by chance, and parameters fitted by EM."""
