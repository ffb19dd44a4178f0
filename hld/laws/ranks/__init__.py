"""What exchangeability alone gives: p-values by rank, tails of drawn scores, the check by the batch's own rows."""
