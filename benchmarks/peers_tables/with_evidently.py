"""The jobs with Evidently: a report with the drift preset, which compares column by column with the reference table."""

import pandas as pd
from evidently import Report
from evidently.presets import DataDriftPreset

MISSING = {"stream": "takes batches only", "size": "not offered"}
NOTES = {
    "detect": "dataset drift: more than half of the columns drift (default)",
    "segments": "a loop by hand, one report a day",
    "save": "the reference table itself",
}


def prepare(train):
    return train


def detect(train, batch):
    count = Report([DataDriftPreset()]).run(batch, train).dict()["metrics"][0]
    return count["value"]["share"] >= count["config"]["drift_share"]


def explain(train, batch):
    found = []
    for metric in Report([DataDriftPreset()]).run(batch, train).dict()["metrics"][1:]:
        is_pvalue, value = "p_value" in metric["config"]["method"], float(metric["value"])
        threshold = metric["config"]["threshold"]
        if value < threshold if is_pvalue else value >= threshold:
            found.append(metric["config"]["column"])
    return found


def report(train, batch, path):
    Report([DataDriftPreset()]).run(batch, train).save_html(str(path))


def segments(train, table, by):
    return [str(day) for day, rows in table.groupby(by) if detect(train, rows.drop(columns=by))]


def save(train, path):
    train.to_parquet(path)


def load(path):
    return pd.read_parquet(path)
