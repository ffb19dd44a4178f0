"""The law of a weighted sum of chi-squares, to full precision in both tails; knows no circuit.

Q = sum_j w_j Z_j^2 with weights w_j >= 0 and Z_j independent standard normal numbers: `sf(q, w)` is P(Q > q).

`hld.gchi2.tails` says how the functions compute; `prepare` saves work where a spectrum is used many times.
"""

from hld.gchi2.spectrum import Spectrum, prepare
from hld.gchi2.tails import cdf, isf, logsf, ppf, sf, sf_with_error

__all__ = ["Spectrum", "cdf", "isf", "logsf", "ppf", "prepare", "sf", "sf_with_error"]
