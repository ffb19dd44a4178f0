"""A detector as an MLflow model: saved with its file, loaded by its address, asked with a data frame.

The model is saved as code (this file), so that nothing is pickled and nothing is unpickled when it is loaded.
"""

import pathlib
import sys
import tempfile

import mlflow
import mlflow.pyfunc
import numpy as np
import pandas as pd

import hld


class DriftModel(mlflow.pyfunc.PythonModel):
    """Answers a batch with one row: shift, p-value, effect size, the columns that moved."""

    def load_context(self, context):
        """Load the model file once."""
        self.detector = hld.load(context.artifacts["detector"])

    def predict(self, context, model_input: pd.DataFrame, params=None):
        """The verdict on a batch."""
        result = self.detector.test(model_input, (params or {}).get("alpha", 0.05))
        moved = [one.name for one in result.columns if one.adjusted <= result.alpha]
        return pd.DataFrame(
            [
                {
                    "shift": result.reject,
                    "pvalue": result.pvalue,
                    "effect": result.effect,
                    "columns": ", ".join(moved),
                }
            ]
        )


mlflow.models.set_model(DriftModel())

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, 1500)
    table = pd.DataFrame(
        {"colour": np.array(["red", "green", "blue"])[kind], "size": (kind + rng.normal(size=1500))}
    )
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "orders.hld")
        hld.HLDDetector(num_epochs=10).fit(table[:1000]).save(path)
        mlflow.pyfunc.save_model(
            str(pathlib.Path(folder, "model")),
            python_model=__file__,
            artifacts={"detector": str(path)},
            pip_requirements=["hld"],
        )
        model = mlflow.pyfunc.load_model(str(pathlib.Path(folder, "model")))
        print("calm:", model.predict(table[1000:]).to_dict("records")[0])
        print(
            "moved:",
            model.predict(table[1000:].assign(size=table["size"][1000:] + 2)).to_dict("records")[0],
        )
    sys.stdout.flush()
