"""Bodies as tables and summaries: the same as the library reads, within limits, without pyarrow."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from live_server import bodies

import hld
from hld.apps.serve import tables
from hld.apps.serve.limits import SPARE_COLUMNS, Limits, Refusal, refusal_of
from hld.apps.serve.tables import read_columns, read_summary

FRAME = pd.DataFrame(
    {
        "word": ["a", "b", "c", "a", None, "b"],
        "size": [3, 2, 2, 9, 1, 1],
        "cost": [0.5, 1.25, None, 2.5, -7.5, 1e3],
        "day": ["2026-01-01", "2026-01-02", "2026-01-31", None, "2027-01-01", "2026-01-02"],
        "took": ["0:00:01", "0:00:02", "0:00:02", "0:00:09", "0:01:00", None],
        "is_new": [True, False, None, True, True, False],
    }
).astype({"is_new": object})
ENCODER = hld.fit_encoder(
    FRAME.assign(day=pd.to_datetime(FRAME["day"]), took=pd.to_timedelta(FRAME["took"]))
)
SMALL = hld.fit_encoder({"word": ["a", "b", "a"], "size": [1, 2, 3], "cost": [0.5, 1.5, 2.5]})
MOST = SPARE_COLUMNS + 6


def read(body, form="csv", encoder=SMALL, **limits):
    body = body if isinstance(body, bytes) else body.encode()
    return read_columns(body, form, encoder, Limits(**limits))


def coded(*args, encoder=SMALL, **options):
    return encoder.encode_counting(read(*args, encoder=encoder, **options))[0]


def refused(body, form="csv", status=400, field="body", **options):
    with pytest.raises((Refusal, ValueError)) as found:
        read(body, form, **options)
    refusal = refusal_of(found.value)
    assert (refusal.status, refusal.field) == (status, field)
    return refusal.message


@pytest.mark.parametrize("name", ["csv", "rows", "columns", "semicolons", "tabs"])
def test_every_form_is_read_to_the_same_codes(name):
    cells = FRAME.astype(object).where(FRAME.notna(), None)
    plain = json.loads(json.dumps({"columns": cells.to_dict("list")}))
    forms = {
        "csv": FRAME.to_csv(index=False),
        "rows": json.dumps({"rows": cells.to_dict("records")}, indent=1),
        "columns": "\ufeff " + json.dumps(plain),
        "semicolons": FRAME.to_csv(index=False, sep=";", decimal=","),
        "tabs": FRAME.to_csv(index=False, sep="\t", lineterminator="\r\n"),
    }
    form = "json" if name in ("rows", "columns") else "csv"
    found = coded(forms[name], form, encoder=ENCODER, max_rows=6)
    np.testing.assert_array_equal(found, ENCODER.encode(FRAME)[0])
    assert refused(forms[name], form, 413, encoder=ENCODER, max_rows=5).startswith(
        "the table has more than"
    )


def test_a_service_reads_all_of_it_without_pyarrow_and_pandas(shop, tmp_path):
    """As `pip install hld[serve]` installs neither."""
    hld.HLDDetector(num_epochs=2, num_latents=2).fit(FRAME.loc[np.arange(60) % 6]).save(
        tmp_path / "all.hld"
    )
    for name, (body, _) in bodies(FRAME.astype(object).where(FRAME.notna(), None)).items():
        (tmp_path / name).write_bytes(body)
    program = (
        "import sys, pathlib\n"
        "sys.modules['pyarrow'] = sys.modules['pandas'] = None\n"
        "from hld.apps.serve.limits import Limits\n"
        "from hld.apps.serve.models import Models\n"
        "from hld.apps.serve.work import Batch, judge, warm_up\n"
        "folder, limits = pathlib.Path(sys.argv[1]), Limits()\n"
        "model = Models({'all': folder / 'all.hld'}).loaded['all']\n"
        "warm_up(model, limits)\n"
        "for name, form in (('csv', 'csv'), ('rows', 'json'), ('columns', 'json')):\n"
        "    batch = Batch((folder / name).read_bytes(), form, 0.05)\n"
        "    print(judge(model, batch, True, {}, limits).pvalue)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PCIRCUIT_ENGINE": "numpy"},
    )
    assert run.returncode == 0, run.stderr
    assert len(set(run.stdout.split())) == 1


def test_cells_of_files_are_read_as_files_are():
    """Commas and lines in quotes, missing texts, marks of numbers that come late, empty lines."""
    body = 'word,size,cost\n"a",1,0.5\n\n"b\n,""x""",NA,\nnan,3, 2.5\n'
    assert coded(body).tolist() == [
        [0, 0, 0],
        [2, -1, -1],
        [-1, 2, SMALL.encode([["a", 1, 2.5]])[0][0, 2]],
    ]
    late = "word;size;cost\n" + "a;1;2\n" * 9000 + "a;1;0,5\n"
    assert coded(late)[-1].tolist() == [0, 0, 0]
    assert coded("size\r1\r\r3\r").tolist() == [[-1, 0, -1], [-1, -1, -1], [-1, 2, -1]]
    odd = coded("size\n" + "1\n" * 9000 + "many\n")[:, 1]
    assert odd.tolist() == [0] * 9000 + [3]


def test_columns_that_the_model_does_not_know_are_not_looked_at(monkeypatch):
    rows = '{"rows": [{"size": 1, "tags": [{"x": []}]}, {"size": 3, "other": "\\ud800"}]}'
    codes, _, absent, extra = SMALL.encode_counting(read(rows, "json"))
    assert (codes[:, 1].tolist(), absent, extra) == ([0, 2], ["word", "cost"], ["other", "tags"])
    converted = []
    monkeypatch.setattr(
        tables, "as_fitted", lambda cells, fitted, *_: converted.append(fitted.name) or np.ones(1)
    )
    read("size,id,text\n1,2,3\n")
    assert converted == ["size"]
    assert "column 'word' holds nested values" in refused('{"rows": [{"word": {"x": 1}}]}', "json")


@pytest.mark.parametrize(
    ("body", "form", "words"),
    [
        (
            '{"rows": [{"size": "x"}]}',
            "json",
            "column 'size' must have some number, as in training, found 'x'",
        ),
        (
            '{"columns": {"size": [null, "x", ""], "word": ["a", "b", "c"]}}',
            "json",
            "column 'size' must",
        ),
        ("word,cost\na,much\nb,NA\n", "csv", "column 'cost' must have some number"),
        ("day\n1 May\n", "csv", "column 'day' must have some date, as in training, found '1 May'"),
        ('{"rows": [{"day": 20260101}]}', "json", "column 'day' must have some date"),
        ('{"rows": [{"is_new": "yes"}]}', "json", "column 'is_new' must have some boolean"),
    ],
)
def test_a_column_of_which_no_cell_can_be_read_is_no_shift(body, form, words):
    """One that can be read is enough: the others are counted, and tested."""
    encoder = ENCODER if "day" in body or "is_new" in body else SMALL
    assert refused(body, form, encoder=encoder).startswith(words)
    assert len(coded('{"rows": [{"size": "x"}, {"size": 2}, {"word": 7}]}', "json")) == 3


@pytest.mark.parametrize(
    ("body", "form", "words"),
    [
        (b"", "csv", "the body is empty: expected a table"),
        (b"word,size\n", "csv", "the table has 0 rows: expected at least one"),
        (
            b"word,size\na,1\nb\n",
            "csv",
            "the row that ends in line 3 has 1 cells, expected 2 as in the first",
        ),
        (
            b'word,size\n"a,1\n',
            "csv",
            "the body is not a table in CSV: line 2: unexpected end of data",
        ),
        (b"word,size\n" + b"a" * 200_000 + b",1\n", "csv", "line 2: field larger than field limit"),
        ("word\n\u00e9\n".encode("latin-1"), "csv", "the body is not text in UTF-8"),
        ("word\na\n".encode("utf-16"), "csv", "the body is not text in UTF-8"),
        (b"", "json", "the body is empty"),
        (b"{", "json", "the body is not JSON: Expecting property name"),
        (b'{"rows": [{"size": 1}]} 2', "json", "not JSON: Extra data"),
        (
            b'{"rows": [{"size": 1}], "columns": {"size": [1]}}',
            "json",
            "the body must be a JSON object",
        ),
        (b"[]", "json", "the body must be a JSON object"),
        (b'{"rows": []}', "json", "the table has 0 cells: expected at least one row"),
        (b'{"rows": [{}, {}]}', "json", "the table has 0 cells"),
        (b'{"columns": {"size": []}}', "json", "the table has 0 rows"),
        (b'{"rows": [{"size": 1, "size": 2}]}', "json", "an object has the name 'size' twice"),
        (
            b'{"columns": {"size": [NaN]}}',
            "json",
            "NaN is no value of JSON; a missing cell is null",
        ),
        (b'{"columns": {"size": [' + b"9" * 5000 + b"]}}", "json", "Exceeds the limit"),
        (b'{"columns": {"size": ' + b"[" * 60_000 + b"}}", "json", "nested too deeply"),
    ],
)
def test_what_is_no_table_is_refused(body, form, words):
    assert words in refused(body, form)


@pytest.mark.parametrize("body", [b'{"rows": {"x": 1}}', b'{"rows": [1]}', b'{"columns": {}}', b'{"columns": {"x": 1}}',
    b'{"columns": {"x": [1], "y": [1, 2]}}'])  # fmt: skip
def test_rows_and_columns_that_are_none_are_named(body):
    field = "rows" if b"rows" in body else "columns"
    assert refused(body, "json").startswith(f"`{field}` ")


def test_more_than_is_allowed_is_refused(monkeypatch):
    names = [f"c{v}" for v in range(MOST + 1)]
    for body, form, what in (
        (",".join(names) + "\n1\n", "csv", "columns"),
        (";".join(names) + "\n1\n", "csv", "columns"),
        (json.dumps({"rows": [dict.fromkeys(names)]}), "json", "columns"),
        (json.dumps({"columns": {name: [1] for name in names}}), "json", "columns"),
        ("size,cost\n" + "1,2\n" * 4, "csv", "rows"),
        (json.dumps({"rows": [{"size": 1}] * 4}), "json", "rows"),
        (
            json.dumps({"rows": [{f"{v}": 1} for v in range(3)] + [dict.fromkeys(names[:20])]}),
            "json",
            "rows",
        ),
        (",".join(names[:30]) + ("\n" + ",".join("1" * 30)) * 2, "csv", "cells"),
        ('{"columns": {"size": [' + "[]," * 70_000 + "1]}}", "json", "lists and objects"),
        ('{"columns": {"size": [' + "1," * 70_000 + "1]}}", "json", "commas"),
    ):
        assert f" {what}, expected at most" in refused(body, form, 413, max_rows=3)
    assert len(coded(json.dumps({"columns": {"size": [1] * 3}}), "json", max_rows=3)) == 3


def test_a_deadline_is_looked_at_between_columns(monkeypatch):
    """And before the first: work that waited for too long is not begun."""
    count = []

    def late():
        count.append(1)
        if len(count) > 2:
            raise Refusal(504, "service", "out of time")

    monkeypatch.setattr(tables, "check_time", late)
    for body, form in (
        ("size,cost\n" + "1,2\n" * 9, "csv"),
        (json.dumps({"columns": {"size": [1] * 9, "cost": [2] * 9}}), "json"),
    ):
        count.clear()
        assert refused(body, form, 504, "service") == "out of time"


def test_summaries_of_many_workers_are_added_up(client, shop):
    detector = hld.load(shop["orders"])
    parts = [detector.summarize(shop["moved"][:100]), detector.summarize(shop["moved"][100:])]
    expected = detector.test(sum(parts))
    many = "[" + ",".join(part.to_json() for part in parts) + "]"
    for body, kind in (
        (many, "application/json"),
        (sum(parts).to_json(), "application/json"),
    ):
        status, answer = client.json("POST", "/v1/summaries", body, kind)
        assert (status, answer["pvalue"], answer["num_samples"]) == (200, expected.pvalue, 300)
    other = hld.load(shop["other"]).summarize(shop["calm"]).to_json()
    twice = many.replace('"num_rows"', '"num_rows": 7, "num_rows"', 1)
    for body, kind, field in (
        (b"[]", "application/json", "body"),
        (twice, "application/json", "body"),
        (b"[" * 60_000, "application/json", "body"),
        (other, "application/json", "body"),
        (many, "text/csv", "content-type"),
    ):
        status, answer = client.json("POST", "/v1/summaries", body, kind)
        assert (status, answer["error"]["field"]) == (415 if kind == "text/csv" else 400, field)


@pytest.fixture(scope="module")
def parts():
    """Summaries of three parts of a table, and of the whole."""
    rows = np.random.default_rng(0).integers(0, 3, size=(60, 2))
    detector = hld.HLDDetector(num_latents=2, num_epochs=2, num_resamples=99).fit(rows)
    return [
        detector.summarize(rows[at])
        for at in (slice(0, 10), slice(10, 11), slice(11, 60), slice(0, 60))
    ]


def joined(parts):
    return ("[" + ", ".join(part.to_json() for part in parts) + "]").encode()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "Expecting value"),
        (b"[]", "the array has 0 summaries, expected 1 to 3"),
        (b"[1, 2, 3, 4]", "has 4 summaries"),
        (b"[null]", "the summary must be one JSON object"),
        (b"7", "the summary must be one JSON object"),
        (b"\xff", "is not text in UTF-8"),
        ("[]".encode("utf-16"), "is not text in UTF-8"),
        (b"[" * 60_000, "is nested too deeply"),
        (b'[{"a": 1, "a": 2}]', "'a'"),
        (b'["\\ud800"]', "the summary must be one JSON object"),
    ],
)
def test_what_is_no_summary_is_refused(body, words, monkeypatch):
    """In UTF-16 an array had been read and a single summary not; with a byte order mark, too."""
    monkeypatch.setattr(tables, "MOST_SUMMARIES", 3)
    with pytest.raises(Refusal) as refused:
        read_summary(body)
    assert (refused.value.status, refused.value.field) == (400, "body")
    assert words in refused.value.message
