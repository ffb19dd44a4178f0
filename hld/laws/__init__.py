"""What a statistic does when nothing has shifted: p-values and thresholds at every batch size.

`hld.laws.null` says what every null can do; `hld.laws.named` lists the nulls.
"""
