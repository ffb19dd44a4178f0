"""The jobs with Alibi Detect: K-S and chi-squared tests of the columns with Bonferroni's correction (TabularDrift)."""

import numpy as np
import pandas as pd
from alibi_detect.cd import CVMDriftOnline, TabularDrift
from alibi_detect.saving import load_detector, save_detector

MISSING = {"report": "returns dictionaries", "size": "not offered"}
NOTES = {
    "segments": "a loop by hand, one test a day, no control of false discoveries",
    "stream": "online Cramer-von Mises test of the numeric columns, expected run time 10,000 rows",
    "detect": "needs the categories as numbers: encoded by hand; MMD and classifiers need PyTorch or TensorFlow",
}


def numbers(table, levels):
    columns = [
        table[name].map(levels[name]).fillna(-1) if name in levels else table[name]
        for name in table
    ]
    return np.column_stack(columns).astype(np.float32)


def prepare(train):
    levels = {
        name: {level: i for i, level in enumerate(train[name].unique())}
        for name in train
        if not pd.api.types.is_numeric_dtype(train[name])
    }
    categories = {v: None for v, name in enumerate(train) if name in levels}
    return (
        TabularDrift(numbers(train, levels), categories_per_feature=categories),
        levels,
        list(train),
    )


def detect(model, batch):
    detector, levels, _ = model
    return bool(detector.predict(numbers(batch, levels))["data"]["is_drift"])


def explain(model, batch):
    detector, levels, names = model
    found = detector.predict(numbers(batch, levels), drift_type="feature")["data"]
    return [name for name, p in zip(names, found["p_val"], strict=True) if p < 0.05 / len(names)]


def segments(model, table, by):
    return [str(day) for day, rows in table.groupby(by) if detect(model, rows.drop(columns=by))]


def stream(train, rows):
    numeric = [name for name in train if pd.api.types.is_numeric_dtype(train[name])]
    rng = np.random.default_rng(0)
    reference = train[numeric].sample(1000, random_state=0).to_numpy(np.float32)
    reference = reference + rng.uniform(0, 1e-3, reference.shape).astype(np.float32)
    detector = CVMDriftOnline(
        reference, ert=10_000, window_sizes=[50, 200], n_bootstraps=52_000, verbose=False
    )
    for t, row in enumerate(rows[numeric].to_numpy(np.float32)):
        if detector.predict(row)["data"]["is_drift"]:
            return t + 1


def save(model, path):
    import json

    save_detector(model[0], path)
    (path / "levels.json").write_text(json.dumps([model[1], model[2]]))


def load(path):
    import json

    return load_detector(path), *json.loads((path / "levels.json").read_text())
