"""How long one p-value and one critical value take, and what quadrature along the imaginary axis would give.

    python -m benchmarks.bench_gchi2 [--repeats 30]

prints a Markdown table for the weights 1/j, j = 1..m. Columns:

* sf, isf: median time of one call with a prepared spectrum; sf raw: the same call with the plain weights, so
  including their preparation;
* Imhof: median time of the textbook alternative, Imhof's integral (Imhof 1961, equation 3.2)

      P(Q > q) = 1/2 + (1/pi) int_0^inf sin(theta(u)) / (u rho(u)) du,
      theta(u) = (1/2) sum_j arctan(lambda_j u) - q u / 2,    rho(u) = prod_j (1 + lambda_j^2 u^2)^(1/4),

  by `scipy.integrate.quad` (QUADPACK's adaptive Gauss-Kronrod rule, asked for 1e-12);
* ratio: Imhof over sf; error of Imhof: absolute difference of the two values; error / p: the same relative
  to the probability, which at p = 1e-12 says how many digits of the p-value quadrature leaves. (The
  relative error of sf itself is below 1e-13; `gchi2.sf_with_error` bounds it.)
"""

import argparse
import math
import statistics
import time
import warnings

import numpy as np

from hld import gchi2


def main():
    """Parse the command line and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=30, help="calls per median (default 30)")
    repeats = parser.parse_args().repeats
    print(
        "| m | p | sf / us | sf raw / us | isf / us | Imhof / us | ratio | error of Imhof | error / p |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for m in (10, 100, 1000, 6000):
        for p in (0.05, 1e-12):
            print(_row(m, p, repeats))


def imhof(q, weights):
    """P(Q > q) by Imhof's integral and adaptive quadrature; absolute accuracy at best."""
    from scipy.integrate import IntegrationWarning, quad

    def integrand(u):
        theta = 0.5 * float(np.arctan(weights * u).sum()) - 0.5 * q * u
        log_rho = 0.25 * float(np.log1p((weights * u) ** 2).sum())
        return math.sin(theta) * math.exp(-log_rho) / u

    with warnings.catch_warnings():
        # QUADPACK announces that it misses 1e-12; by how much is what the table shows.
        warnings.simplefilter("ignore", IntegrationWarning)
        value, _ = quad(integrand, 0.0, math.inf, epsabs=1e-12, epsrel=1e-12, limit=500)
    return 0.5 + value / math.pi


def _row(m, p, repeats):
    weights = 1.0 / np.arange(1.0, m + 1.0)
    spectrum = gchi2.prepare(weights)
    q = gchi2.isf(p, spectrum)
    tail = _median_time(lambda: gchi2.sf(q, spectrum), repeats)
    raw = _median_time(lambda: gchi2.sf(q, weights), repeats)
    quantile = _median_time(lambda: gchi2.isf(p, spectrum), repeats)
    quadrature = _median_time(lambda: imhof(q, weights), 3)
    error = abs(imhof(q, weights) - gchi2.sf(q, spectrum))
    return (
        f"| {m} | {p:g} | {tail:.0f} | {raw:.0f} | {quantile:.0f} | {quadrature:.0f} "
        f"| {quadrature / tail:.0f} | {error:.1e} | {error / p:.1e} |"
    )


def _median_time(call, repeats):
    """Median time of one call in microseconds, after one call to warm up."""
    call()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times)


if __name__ == "__main__":
    main()
