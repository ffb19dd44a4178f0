"""SDV's side, in its environment: learn and draw by the Gaussian copula, and judge all rows.  Prints a JSON object."""

import importlib.metadata
import json
import pathlib
import sys
import time
import warnings

import pandas as pd
from sdmetrics.reports.single_table import QualityReport
from sdv.metadata import Metadata
from sdv.single_table import GaussianCopulaSynthesizer


def main(folder: pathlib.Path) -> dict:
    """Scores and times."""
    train = pd.read_csv(folder / "train.csv", keep_default_na=False)
    metadata = Metadata.detect_from_dataframes(
        {"table": train}, infer_sdtypes=True, infer_keys=None
    )
    for name in train:  # numbers are numbers, texts are categories, whatever their names sound like
        metadata.update_column(
            name, sdtype="numerical" if train[name].dtype.kind in "if" else "categorical"
        )
    synthesizer = GaussianCopulaSynthesizer(metadata)
    start = time.process_time()
    synthesizer.fit({"table": train})
    learned = time.process_time()
    drawn = synthesizer.sample(len(train))
    drawn = drawn["table"] if isinstance(drawn, dict) else drawn
    times = [learned - start, time.process_time() - learned]
    kinds = {
        "real": pd.read_csv(folder / "real.csv", keep_default_na=False),
        "hld": pd.read_csv(folder / "hld.csv", keep_default_na=False),
        "sdv": drawn,
    }
    plain = metadata.to_dict()
    plain = next(iter(plain["tables"].values())) if "tables" in plain else plain
    found = {"times": times, "version": importlib.metadata.version("sdv")}
    for kind, rows in kinds.items():
        report = QualityReport()
        report.generate(train, rows, plain, verbose=False)
        scores = report.get_properties().set_index("Property")["Score"]
        found[kind] = [scores["Column Shapes"], scores["Column Pair Trends"]]
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print("RESULT" + json.dumps(main(pathlib.Path(sys.argv[1]))))
