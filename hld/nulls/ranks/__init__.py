"""What exchangeable draws and rows say alone: p-values by rank, tails of drawn scores, the check by own rows."""
