"""What a statistic does when nothing has shifted: p-values and thresholds at every batch size.

`hld.nulls.null` says what every null can do; `hld.nulls.named` lists the nulls.
"""
