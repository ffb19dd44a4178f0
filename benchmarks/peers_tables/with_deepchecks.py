"""The jobs with Deepchecks: a classifier that tells batch from reference, and drift scores of the columns."""

import pandas as pd
from deepchecks.tabular import Dataset
from deepchecks.tabular.checks import FeatureDrift, MultivariateDrift

MISSING = {"stream": "takes batches only", "size": "not offered"}
NOTES = {
    "detect": "score of a domain classifier of at least 0.25 (default of the condition)",
    "explain": "drift score of a column of at least 0.2 (K-S) or 0.2 (Cramer's V), the defaults of the condition",
    "segments": "a loop by hand, one classifier a day",
    "save": "the reference table itself",
}


def dataset(table):
    return Dataset(table, cat_features=[name for name in table if table[name].dtype == object])


def prepare(train):
    return dataset(train)


def detect(train, batch):
    check = MultivariateDrift().add_condition_overall_drift_value_less_than()
    found = check.run(train, dataset(batch), with_display=False)
    return not found.passed_conditions()


def explain(train, batch):
    found = FeatureDrift().run(train, dataset(batch), with_display=False).value
    return [
        name
        for name, one in found.items()
        if one["Drift score"] is not None and one["Drift score"] >= 0.2
    ]


def report(train, batch, path):
    FeatureDrift().run(train, dataset(batch)).save_as_html(str(path), connected=False)


def segments(train, table, by):
    return [str(day) for day, rows in table.groupby(by) if detect(train, rows.drop(columns=by))]


def save(train, path):
    train.data.to_parquet(path)


def load(path):
    return dataset(pd.read_parquet(path))
