"""How large the statistic gets when nothing has shifted: p-values and thresholds at every batch size."""
