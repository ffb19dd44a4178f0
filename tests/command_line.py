"""What tests of the command line share: tables, the command in this process, and the check of its JSON."""

import io
import json
import pathlib
import sys

import numpy as np
import pandas as pd
import pytest

from hld.apps.command.parser import main

SCHEMAS = pathlib.Path(__file__).resolve().parents[1] / "docs" / "json"


def rows(rng, number, shift=0.0):
    """Three columns that depend on one another; a level of the first looks like HTML."""
    kind = rng.integers(0, 3, number)
    return pd.DataFrame(
        {
            "colour": np.array(["red", "green", "<b>blue"])[kind],
            "visits": kind + rng.integers(0, 2, number),
            "income": (rng.normal(3 * kind) + shift).round(2),
        }
    )


def rows_with_gaps(rng, number, shifted=False):
    """A table with text, booleans, whole numbers, numbers, and gaps in each; shifted: incomes rise by 6."""
    kind = rng.integers(0, 3, size=number)
    member = np.where(rng.random(number) < 0.8, kind == 1, kind != 1)
    income = rng.normal(3 * kind, 1.0) + 6 * shifted
    table = pd.DataFrame(
        {
            "colour": np.array(["red", "green", "blue"])[kind],
            "member": member.astype(object),
            "visits": np.minimum(kind + rng.integers(0, 2, size=number), 3).astype(object),
            "income": income.round(3),
        }
    )
    return table.mask(rng.random(table.shape) < 0.03)


def amounts(number, seed):
    """Nine amounts in ten are 0; the others have a decimal comma."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "amount": np.where(
                rng.random(number) < 0.9, 0.0, rng.gamma(2, 20, number).round(2) + 0.01
            ),
            "k": rng.integers(0, 3, number),
        }
    )


def runner(folder, monkeypatch, capsys):
    """A function that runs a command in a folder and returns status, output and error output."""
    monkeypatch.chdir(folder)

    def call(*argv, stdin=None):
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        try:
            status = main(list(argv))
        except SystemExit as leaving:  # argparse
            status = leaving.code
        return (status, *capsys.readouterr())

    return call


def check(name, value):
    """Raise unless a value is of a schema in docs/json."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(value, schema)
