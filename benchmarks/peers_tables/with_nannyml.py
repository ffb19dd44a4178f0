"""The jobs with NannyML: the reconstruction error of a PCA for the table, distances for its columns."""

import pickle

import nannyml
import pandas as pd

MISSING = {"stream": "takes chunks only", "size": "not offered"}
NOTES = {
    "detect": "error of reconstruction outside of three standard deviations of reference chunks (default)",
    "explain": "Jensen-Shannon distance of a column above three standard deviations of reference chunks (default)",
    "segments": "days are chunks: built in; no control of false discoveries",
    "report": "interactive figures of plotly, one for each method",
}
CHUNK = 300


def prepare(train):
    whole = nannyml.DataReconstructionDriftCalculator(
        column_names=list(train), chunk_size=CHUNK
    ).fit(train)
    single = nannyml.UnivariateDriftCalculator(column_names=list(train), chunk_size=CHUNK).fit(
        train
    )
    return whole, single, train


def detect(model, batch):
    found = model[0].calculate(batch).filter(period="analysis").to_df()
    return bool(found[("reconstruction_error", "alert")].any())


def explain(model, batch):
    found = model[1].calculate(batch).filter(period="analysis").to_df()
    return [column[0] for column in found if column[-1] == "alert" and found[column].any()]


def report(model, batch, path):
    model[1].calculate(batch).plot(kind="distribution").write_html(str(path))


def segments(model, table, by):
    train = model[2].copy()
    calculator = nannyml.DataReconstructionDriftCalculator(
        column_names=list(model[2]), timestamp_column_name=by, chunk_period="D"
    )
    days = pd.to_timedelta([i // 200 for i in range(len(train))], unit="D")
    train[by] = (pd.Timestamp("2025-12-01") + days).astype(str)
    found = calculator.fit(train).calculate(table).filter(period="analysis").to_df()
    return found[("chunk", "key")][found[("reconstruction_error", "alert")]].tolist()


def save(model, path):
    with open(path, "wb") as file:
        pickle.dump(model[:2], file)


def load(path):
    with open(path, "rb") as file:
        return pickle.load(file)
