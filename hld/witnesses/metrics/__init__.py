"""How a difference of mean vectors becomes one number: metrics, each a linear map, made for a reference.

`hld.witnesses.metrics.named` lists them and says what each is good for.
"""
