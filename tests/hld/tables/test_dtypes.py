"""One table in memory, as Arrow, as Parquet and as text has one model and one p-value, for every type of column."""

import datetime as dt
import decimal
import io
import warnings

import numpy as np
import pandas as pd
import pytest

import hld
from hld.tables.cells import not_a_level
from hld.tables.files.files import read_training

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

N = 120
K = np.random.default_rng(0).integers(0, 30, N)
START = pd.Timestamp("2026-01-01")
WHEN = START + pd.to_timedelta(K * 7, unit="h")
DAYS = [dt.date(2026, 1, 1) + dt.timedelta(days=int(k)) for k in K]
CLOCKS = [dt.time(int(k) % 24, 30) for k in K]
STAYS = [dt.timedelta(hours=int(k)) for k in K]
TEXTS = [f"a{k}" for k in K]
BYTES = [b"a%03d" % k for k in K]
PRICES = [decimal.Decimal(int(k)) / 4 for k in K]
BINS = pd.cut(K, 6)


def pandas_columns():
    """Every dtype of pandas that is accepted, with holes where it can have them."""
    found = {}
    signs = ("int", "uint", "Int", "UInt")
    kinds = [f"{sign}{bits}" for sign in signs for bits in (8, 16, 32, 64)]
    kinds += ["float16", "float32", "float64", "Float32", "Float64", "string", "object", "category"]
    for kind in kinds + [f"datetime64[{unit}]" for unit in ("s", "ms", "us", "ns")]:
        values = pd.Series(WHEN if kind.startswith("date") else TEXTS if kind == "string" else K)
        found[kind] = values.astype(kind)
        if kind[0] in "IUFscd" or kind == "float32":
            found[f"{kind} with holes"] = found[kind].where(K != 3)
    for unit in ("s", "ms", "us", "ns"):
        found[f"timedelta64[{unit}]"] = pd.Series(pd.to_timedelta(STAYS)).astype(f"m8[{unit}]")
    found |= {
        f"period[{freq}]": pd.period_range("2020", periods=30, freq=freq)[K] for freq in "DMQYhWs"
    }
    objects = {
        "text": TEXTS,
        "decimals": PRICES,
        "days": DAYS,
        "clocks": CLOCKS,
        "durations": STAYS,
        "bytes": BYTES,
    }
    found |= {
        f"object of {kind}": pd.Series(cells, dtype=object) for kind, cells in objects.items()
    }
    return found | {
        "bool": K % 2 == 0,
        "boolean with holes": pd.Series(K % 2 == 0, dtype="boolean").where(K != 3),
        "large Int64 with holes": pd.Series(K + 2**60, dtype="Int64").where(K != 3),
        "time zone": pd.Series(WHEN).dt.tz_localize("Europe/Oslo"),
        "period with holes": pd.Series(pd.period_range("2020", periods=30, freq="D")[K]).where(
            K != 3
        ),
        "interval": pd.arrays.IntervalArray(BINS),
        "interval with holes": pd.Series(pd.arrays.IntervalArray(BINS)).where(K != 3),
        "interval of days": pd.interval_range(START, periods=30, freq="D")[K],
        "sparse": pd.arrays.SparseArray(K.astype(float)),
        "category of text": pd.Categorical(TEXTS),
        "category of days as text": pd.Categorical([str(day) for day in DAYS]),
        "category of floats": pd.Categorical(K / 4),
        "category of flags": pd.Categorical(K % 2 == 0),
        "category of dates": pd.Categorical(WHEN),
        "category of large numbers": pd.Categorical(pd.Series(K + 2**60).where(K != 3)),
    }


def arrow_columns():
    """Every type of Arrow that is accepted."""
    texts = dict.fromkeys((pa.string(), pa.large_string(), pa.string_view()), TEXTS)
    texts |= dict.fromkeys((pa.binary(), pa.large_binary(), pa.binary(4), pa.binary_view()), BYTES)
    numbers = [pa.int8(), pa.int64(), pa.uint64(), pa.float16(), pa.float32(), pa.float64()]
    values = texts | {kind: K.astype(kind.to_pandas_dtype()) for kind in numbers}
    values |= dict.fromkeys((pa.date32(), pa.date64()), DAYS)
    values |= dict.fromkeys(
        (pa.timestamp("s"), pa.timestamp("ns"), pa.timestamp("us", "Asia/Tokyo")), WHEN
    )
    values |= dict.fromkeys(
        (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")), CLOCKS
    )
    values |= dict.fromkeys((pa.duration("ms"), pa.duration("us"), pa.duration("ns")), STAYS)
    values |= dict.fromkeys((pa.decimal128(20, 2), pa.decimal256(50, 2)), PRICES)
    found = {str(kind): pa.array(cells, kind) for kind, cells in values.items()}
    found["bool"] = pa.array(K % 2 == 0)
    for kind in ("string", "int8", "double", "date32[day]", "timestamp[ns]", "bool"):
        found[f"dictionary of {kind}"] = found[kind].dictionary_encode()
    return found | {
        "arrow.json": pa.array([f'{{"a": {k}}}' for k in K], pa.json_()),
    }


def polars_columns():
    """Every dtype of polars that is accepted."""
    pl = pytest.importorskip("polars")
    numbers = (pl.Int8, pl.Int64, pl.UInt8, pl.UInt64, pl.Float32, pl.Float64)
    values = {kind: K.tolist() for kind in numbers}
    values |= dict.fromkeys((pl.String, pl.Categorical, pl.Enum(sorted(set(TEXTS)))), TEXTS)
    values |= {pl.Datetime(unit): WHEN.to_pydatetime().tolist() for unit in ("ms", "us", "ns")}
    values |= {pl.Duration(unit): STAYS for unit in ("ms", "us", "ns")}
    values |= {pl.Boolean: (K % 2 == 0).tolist(), pl.Date: DAYS, pl.Time: CLOCKS, pl.Binary: BYTES}
    values |= {pl.Decimal(9, 2): PRICES}
    return {str(kind)[:40]: pl.Series(cells, dtype=kind) for kind, cells in values.items()}


DUCKDB = {
    **dict.fromkeys(
        ("TINYINT", "BIGINT", "UTINYINT", "UBIGINT", "HUGEINT", "DOUBLE", "FLOAT"), "k"
    ),
    "DECIMAL(9, 2)": "k / 4",
    "BOOLEAN": "k % 2",
    "VARCHAR": "'a' || k",
    "DATE": "DATE '2026-01-01' + k::INTEGER",
    **dict.fromkeys(
        ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ"),
        "TIMESTAMP '2026-01-01' + k * INTERVAL 7 HOUR",
    ),
    "TIME": "TIME '00:30:00' + (k % 20) * INTERVAL 1 HOUR",
    "ENUM('a0', 'a1', 'a2')": "'a' || (k % 3)",
    "JSON": "'{\"a\": ' || k || '}'",
}


def tables(library):
    """A function from rows to a table of all columns of a library, by the form that it is in."""
    if library == "pandas":
        columns = pandas_columns()  # some of which Arrow has in other types
        frame = pd.DataFrame(
            {
                name: columns[name]
                for name in columns
                if name[:6] not in ("sparse", "period", "interv")
            }
        )
        return {"own": frame, "arrow": pa.Table.from_pandas(frame, preserve_index=False)}
    if library == "arrow":
        arrow = pa.table(arrow_columns())
        return {"own": arrow, "pandas": arrow.to_pandas(types_mapper=pd.ArrowDtype)}
    if library == "polars":
        import polars as pl

        frame = pl.DataFrame(polars_columns())
        return {"own": frame, "arrow": frame.to_arrow()}
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("rows", pa.table({"k": K}))
    chosen = ", ".join(f'({value})::{kind} AS "{kind}"' for kind, value in DUCKDB.items())
    found = connection.sql(f"SELECT {chosen} FROM rows")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pandas about what DuckDB does
        return {"own": pa.table(found), "relation": found, "pandas": found.df()}


def as_parquet(table):
    """A table of Arrow, written and read; columns that Parquet does not hold as they are."""
    kept = {}
    for name in table.column_names:
        buffer = io.BytesIO()
        try:
            pq.write_table(table.select([name]), buffer)
            kept[name] = pq.read_table(io.BytesIO(buffer.getvalue()))
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            kept[name] = table.select([name])
    fields = [kept[name].schema.field(0) for name in kept]
    return pa.table([kept[name].column(0) for name in kept], schema=pa.schema(fields))


@pytest.mark.parametrize("library", ["pandas", "arrow", "polars", "duckdb"])
def test_one_table_in_every_form_has_one_model_and_one_p_value(library):
    forms = tables(library)
    forms["parquet"] = as_parquet(forms.get("arrow", forms["own"]))
    schemas = {form: hld.learn_schema(table) for form, table in forms.items()}
    own = {column.name: column for column in schemas["own"].columns}
    for form, schema in schemas.items():
        for column in schema.columns:
            assert column == own[column.name], (form, column.name)
    detector = hld.HLDDetector(num_latents=2, num_epochs=1, num_resamples=99, rng=0)
    detector.fit(forms["own"])
    pvalues = {form: detector.test(table).pvalue for form, table in forms.items()}
    assert len(set(pvalues.values())) == 1, pvalues
    assert pvalues["own"] > 0.01


def test_what_text_tells_is_what_memory_told(tmp_path):
    """Names of categories and types of numbers are not in text; texts, numbers, flags, times and intervals are."""
    columns = {name: one for name, one in pandas_columns().items() if "category" not in name}
    for name in ("object of bytes", "time zone", "bool", "boolean with holes"):
        del columns[name]  # flags are text there
    frame = pd.DataFrame(columns)
    frame.to_csv(tmp_path / "a.csv", index=False)
    known = {column.name: column for column in hld.learn_schema(frame).columns}
    for column in hld.learn_schema(read_training(str(tmp_path / "a.csv"))[0]).columns:
        if column.name.startswith("period"):  # 2020Q1 is a text
            continue
        assert (column.kind, column.levels, column.edges) == (
            known[column.name].kind,
            known[column.name].levels,
            known[column.name].edges,
        ), column.name


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array([[1], [2]]), "a list"),
        (pa.array([{"a": 1}, {"a": 2}]), "a dict"),
        (pa.array([pa.MonthDayNano([1, 0, 0])] * 2), "MonthDayNano"),
        (pd.Series([1j, 2j]), "a complex"),
    ],
)
def test_types_that_are_none_are_refused_by_name(column, kind):
    table = pa.table({"x": column}) if isinstance(column, pa.Array) else column.to_frame("x")
    with pytest.raises((TypeError, ValueError), match=kind) as caught:
        hld.learn_schema(table)
    assert "'x'" in str(caught.value)
    assert not_a_level([], "x")
