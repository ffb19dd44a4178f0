"""What the spectrum of S = Cov L(X) says about the paper's test, and why products add nothing to it.

*The level of the closed form.*  Under the null T d^2 is sum_j lambda_j chi^2_1, and the closed form rejects above
tr(S) + z (2 tr(S^2))^1/2.  So its true level at large T is one tail probability, known before any batch is drawn.  Two
numbers say how far it is from the nominal one: the largest eigenvalue's share of the trace, and the effective number of
eigenvalues tr(S)^2 / tr(S^2).

*Products.*  In a Hidden Chow-Liu tree the K sums of a region are W times its K products, so with W invertible the
products are linear functions of the sums: they add nothing to what the distance can see and only weigh it otherwise.
Only the K products of the root have a single sum above them.  So the rank of S should grow by K - 1, and the share R^2
of a product's variance that leaf and sum units explain should be 1 everywhere but at the root.
"""

import numpy as np

import hld

NEGLIGIBLE = 1e-12  # of the largest eigenvalue of a correlation matrix: less is rounding


def spectrum(covariance, law, closed_form) -> dict:
    """Rank of S, shares of its spectrum, and the levels that the closed form has."""
    values = np.linalg.eigvalsh(covariance)
    return {
        "rank": len(directions(correlations(covariance))[0]),
        "leading": round(float(values[-1] / values.sum()), 4),
        "effective": round(float(values.sum() ** 2 / (values**2).sum()), 2),
        "levels": [round(float(hld.gchi2.sf(quantile, law)), 5) for quantile in closed_form],
    }


def redundancy(circuit, nodes, covariance) -> dict:
    """Shares of tr(S) by kind of unit; R^2 of products on leaf and sum units, smallest below the root and at it."""
    kinds, variances = circuit.nodes.kind[nodes], np.diag(covariance)
    is_root = circuit.nodes.region[nodes] == circuit.num_regions - 1
    product = kinds == "product"
    correlation = correlations(covariance)
    values, vectors = directions(correlation[np.ix_(~product, ~product)])
    explained = vectors.T @ correlation[np.ix_(~product, product)] / np.sqrt(values)[:, None]
    squared = (explained**2).sum(axis=0)
    return {
        "trace shares": [
            round(float(variances[kinds == kind].sum() / variances.sum()), 4)
            for kind in ("input", "sum", "product")
        ],
        "R2 below the root": round(float(squared[~is_root[product]].min()), 5),
        "R2 at the root": round(float(squared[is_root[product]].min()), 5),
    }


def correlations(covariance) -> np.ndarray:
    """S in units of standard deviations, which differ by many powers of ten; zero where a unit is constant."""
    deviations = np.sqrt(np.diag(covariance))
    return (
        covariance / np.where(deviations > 0, deviations, np.inf) / deviations[:, None].clip(1e-300)
    )


def directions(correlation) -> tuple:
    """Eigenvalues and eigenvectors that are more than rounding."""
    values, vectors = np.linalg.eigh(correlation)
    kept = values > NEGLIGIBLE * values[-1]
    return values[kept], vectors[:, kept]
