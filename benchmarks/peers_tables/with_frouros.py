"""The jobs with Frouros: a test for each column, put together by hand with Bonferroni's correction."""

import pickle

from frouros.detectors.data_drift import ChiSquareTest, IncrementalKSTest, KSTest

MISSING = {"report": "returns numbers", "size": "not offered"}
NOTES = {
    "segments": "a loop by hand, one test a day, no control of false discoveries",
    "stream": "incremental K-S test of one column, the age; window of 200 rows, alarm at p < 1e-4 by hand",
    "detect": "one detector a column, Bonferroni's correction by hand",
}


def prepare(train):
    detectors = {}
    for name in train:
        detectors[name] = KSTest() if train[name].dtype.kind in "if" else ChiSquareTest()
        detectors[name].fit(X=train[name].to_numpy())
    return detectors


def pvalues(detectors, batch):
    return {
        name: detector.compare(X=batch[name].to_numpy())[0].p_value
        for name, detector in detectors.items()
    }


def detect(detectors, batch):
    return min(pvalues(detectors, batch).values()) < 0.05 / len(detectors)


def explain(detectors, batch):
    return [name for name, p in pvalues(detectors, batch).items() if p < 0.05 / len(detectors)]


def segments(detectors, table, by):
    return [str(day) for day, rows in table.groupby(by) if detect(detectors, rows.drop(columns=by))]


def stream(train, rows):
    detector = IncrementalKSTest(window_size=200)
    detector.fit(X=train["age"].sample(1000, random_state=0).to_numpy().astype(float))
    for t, value in enumerate(rows["age"].to_numpy().astype(float)):
        test, _ = detector.update(value=value)
        if test is not None and test.p_value < 1e-4:
            return t + 1


def save(detectors, path):
    with open(path, "wb") as file:
        pickle.dump(detectors, file)


def load(path):
    with open(path, "rb") as file:
        return pickle.load(file)
