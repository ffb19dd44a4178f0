"""Tests to compare: each learns from training rows and gives every batch a statistic, and a p-value where it has one.

    default        HLDDetector as it is
    before         HLDDetector without the metric "score"
    score          HLDDetector with the metric "score" alone
    paper          the circuit's own moments, Euclidean norm, normal approximation
    likelihood     two-sided: |mean log-likelihood of the batch - that of held-out rows|
    columns        two-sample Kolmogorov-Smirnov of numeric columns, chi-square of nominal ones, Holm
    mmd, energy    two-sample, 2,000 reference rows; one-hot and standardised columns
    mmd-agg        the largest of five Gaussian MMDs, each in units of its deviation without a shift
    logistic       classifier two-sample test: mean difference of out-of-fold logistic scores
    boosting       the same with histogram gradient boosting; slow

Power is at equal size: a batch is rejected if its statistic is above the 95 % quantile of unshifted batches.  Kernel
and classifier tests get their p-values from permutations, whose level is exact, so only the statistic is computed.
"""

import numpy as np

import hld

REFERENCE_ROWS = 2_000
LEVELS_KEPT = 30  # of a nominal column, for the peers; the others are one more


def detector_of(source, metric, seed=0):
    """A fitted detector."""
    nominal = np.flatnonzero(~source.is_numeric).tolist()
    numeric = np.flatnonzero(source.is_numeric).tolist()
    return hld.HLDDetector(categorical=nominal, continuous=numeric, metric=metric, rng=seed).fit(
        source.train
    )


def detector_test(metric):
    """-log p of a detector with some metrics."""

    def build(source, shared):
        detector = detector_of(source, metric)
        shared.setdefault("detector", detector)

        def test(batch):
            pvalue = detector.test(batch).pvalue
            return -np.log(pvalue), pvalue

        return test

    return build


def paper(source, shared):
    """-log p of the paper's test with the circuit of the detector."""
    detector = shared.setdefault("detector", None) or detector_of(source, "euclidean")
    test = hld.HLDTest(detector.circuit_, null="normal")

    def run(batch):
        pvalue = test(detector.encoder_.encode(batch)[0]).pvalue
        return -np.log(pvalue), pvalue

    return run


def likelihood(source, shared):
    """The mean log-likelihood, in units of its deviation, with a normal p-value."""
    from scipy.special import ndtr

    detector = shared.setdefault("detector", None) or detector_of(source, "euclidean")
    kept = np.random.default_rng(0).permutation(len(source.train))[
        : len(source.train) // 2
    ]  # as the detector's
    logs = np.maximum(detector.score_samples(source.train[kept]), -1e4)

    def run(batch):
        own = np.maximum(detector.score_samples(batch), -1e4)
        z = abs(own.mean() - logs.mean()) / (logs.std() * np.sqrt(1 / len(own) + 1 / len(logs)))
        return z, 2 * ndtr(-z)

    return run


def columns(source, shared):
    """-log of the smallest p-value of all columns times their number."""

    def run(batch):
        smallest = max(min(column_pvalues(source, batch)), 1e-300)
        return -np.log(smallest), min(1.0, smallest * batch.shape[1])

    return run


def column_pvalues(source, batch) -> list:
    """p-values of Kolmogorov-Smirnov or chi-square tests of each column."""
    from scipy import stats

    reference = source.train

    def of_column(v, values):
        if source.is_numeric[v]:
            return stats.ks_2samp(reference[:, v], values, method="asymp").pvalue
        levels, places = np.unique(np.concatenate([reference[:, v], values]), return_inverse=True)
        counts = [
            np.bincount(part, minlength=len(levels)) for part in np.split(places, [len(reference)])
        ]
        return 1.0 if len(levels) == 1 else stats.chi2_contingency(counts, correction=False).pvalue

    return [of_column(v, batch[:, v]) for v in range(batch.shape[1])]


def features_of(source):
    """A function of rows: standardised numeric columns, clipped, and one-hot nominal ones over sqrt(2)."""
    train, parts = source.train, []
    for v in range(train.shape[1]):
        if source.is_numeric[v]:
            mean, std = train[:, v].mean(), max(train[:, v].std(), 1e-12)
            parts.append(
                (v, lambda x, mean=mean, std=std: np.clip((x - mean) / std, -10, 10)[:, None])
            )
            continue
        levels, counts = np.unique(train[:, v], return_counts=True)
        levels = np.sort(levels[np.argsort(-counts, kind="stable")[:LEVELS_KEPT]])
        parts.append(
            (
                v,
                lambda x, levels=levels: (
                    np.column_stack([x[:, None] == levels, ~np.isin(x, levels)]) / np.sqrt(2)
                ),
            )
        )
    return lambda rows: np.concatenate([make(rows[:, v]) for v, make in parts], axis=1).astype(
        np.float32
    )


def kernel_test(name):
    """MMD with the median distance, energy distance, or the largest of several MMDs."""

    def build(source, shared):
        make = features_of(source)
        reference = make(source.train[:REFERENCE_ROWS])
        inner = distances(reference, reference)
        scale = np.median(inner[np.triu_indices(len(inner), 1)])
        kernels = (
            [lambda d: -np.sqrt(d)]
            if name == "energy"
            else [
                lambda d, s=s: np.exp(-d / (s * scale))
                for s in ((1.0,) if name == "mmd" else (1 / 16, 1 / 4, 1.0, 4.0, 16.0))
            ]
        )
        inside = [kernel(inner).mean() for kernel in kernels]
        cache: dict = {}

        def values(rows):
            across, within = distances(rows, reference), distances(rows, rows)
            return np.array(
                [
                    kernel(within).mean() + own - 2 * kernel(across).mean()
                    for kernel, own in zip(kernels, inside, strict=True)
                ]
            )

        def run(batch):
            T = len(batch)
            if (
                T not in cache
            ):  # batches of training rows that the reference does not hold, where there are enough
                rng, rest = np.random.default_rng([7, T]), make(source.train)
                drawn = np.stack([values(rest[rng.integers(0, len(rest), T)]) for _ in range(40)])
                cache[T] = drawn.mean(axis=0), drawn.std(axis=0) + 1e-15
            mean, std = cache[T]
            return float(((values(make(batch)) - mean) / std).max()), None

        return run

    return build


def distances(first, second):
    """(n, k) squared distances."""
    squares = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1) - 2 * first @ second.T
    return np.maximum(squares, 0.0)


def classifier_test(name):
    """Difference of mean out-of-fold scores between batch and reference, two folds, in units of its deviation."""

    def build(source, shared):
        from sklearn.ensemble import HistGradientBoostingClassifier
        from sklearn.linear_model import LogisticRegression

        make = features_of(source)
        reference = make(source.train[:REFERENCE_ROWS])

        def classifier():
            if name == "logistic":
                return LogisticRegression(C=0.1, max_iter=50, class_weight="balanced")
            return HistGradientBoostingClassifier(
                max_iter=30, max_leaf_nodes=15, class_weight="balanced"
            )

        def run(batch):
            X = np.concatenate([reference, make(batch)])
            y = np.repeat([0, 1], [len(reference), len(batch)])
            folds, found = np.arange(len(X)) % 2, np.empty(len(X))
            for fold in (0, 1):
                learned = classifier().fit(X[folds != fold], y[folds != fold])
                found[folds == fold] = learned.predict_proba(X[folds == fold])[:, 1]
            a, b = found[y == 0], found[y == 1]
            return float(
                (b.mean() - a.mean()) / np.sqrt(a.var() / len(a) + b.var() / len(b) + 1e-12)
            ), None

        return run

    return build


BEFORE = ("euclidean", "standardized", "marginals", "whitened")
METHODS = {
    "default": detector_test("auto"),
    "before": detector_test(BEFORE),
    "with score": detector_test((*BEFORE, "score")),
    "score": detector_test("score"),
    "paper": paper,
    "likelihood": likelihood,
    "columns": columns,
    "mmd": kernel_test("mmd"),
    "energy": kernel_test("energy"),
    "mmd-agg": kernel_test("mmd-agg"),
    "logistic": classifier_test("logistic"),
    "boosting": classifier_test("boosting"),
}
SLOW = ("boosting", "logistic")
