"""Doors and breakages: what each way to a verdict sees of each thing that goes wrong with a table.

    HLD_DATA=... python -m benchmarks.doors [--tables adult covertype sensorless] [--draws 20]
    python -m benchmarks.doors --doors sql groups --breakages none "1 % gross"      in parts
    python -m benchmarks.doors --files FILE.csv ...         other tables, the class in the last column

Of a table in random order 2,000 rows are learned from; every draw takes others, in which one thing is broken.  A cell
is the share of draws in which a door answers "shift" at 5 %, and the median of its p-values, for effects that of the
least share of rows that is sure.  Batches have 200 rows; streams 200 calm rows and up to 2,000 broken ones, of which
the median number up to the alarm is printed.  `--min-effect 0.05` is asked of 2,000 rows.  Groups have 40 rows each,
without an effect of their own.  The service asks `test` and the monitor, a cluster adds up chunks; a monitor against
the circuit is left out, as it rejects every table that the circuit does not fit.  Numbers are broken in the first
column of at least ten of them, levels in the first other column of at least three.
"""

import argparse
import functools
import pathlib
import tempfile
import warnings

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

import hld
import hld.sql
from hld.apps.command.judging import is_large
from hld.apps.export.plan import codes_of

from .c_programs import compiled
from .paper import datasets

LEARNED, BATCH, LONG, CALM, OWN, ALPHA = 2_000, 200, 2_000, 200, 40, 0.05
MOST_ROWS = 20_000  # of a table


class Table:
    """Rows of a table in random order, and the columns in which something is broken."""

    def __init__(self, name, frame, label):
        frame = frame.sample(frac=1, random_state=0)[:MOST_ROWS].reset_index(drop=True)
        self.name, classes = name, frame.pop(label)
        is_own = classes == classes.mode()[0]
        self.rows, self.others = frame[is_own].reset_index(drop=True), frame[~is_own]
        several = self.rows.nunique()
        numbers = self.rows.select_dtypes("number").columns
        wide = [c for c in numbers if several[c] >= 10]
        self.number = wide[0] if wide else None
        levels = [c for c in frame if c not in wide and several[c] >= 3]
        self.level = levels[0] if levels else next((c for c in frame if c not in wide), None)
        ranks = self.rows.apply(lambda one: one if is_numeric_dtype(one) else pd.factorize(one)[0])
        strength = ranks[:LEARNED].corr("spearman").abs().fillna(0.0).to_numpy(copy=True)
        np.fill_diagonal(strength, 0.0)
        self.tied = frame.columns[int(strength.max(axis=1).argmax())]

    def draw(self, rng, number):
        """Rows that were not learned from."""
        places = rng.choice(np.arange(LEARNED, len(self.rows)), number)
        return self.rows.loc[places].reset_index(drop=True)


def unbroken(table, rows, rng):
    """The rows as they are."""
    return rows


def of_number(change):
    """A breakage of the column of numbers."""

    def broken(table, rows, rng):
        spread = table.rows[table.number].std()
        return rows.assign(**{table.number: change(rows[table.number].astype(float), spread, rng)})

    broken.needs = "number"
    return broken


def of_level(change):
    """A breakage of the column of levels."""

    def broken(table, rows, rng):
        common = table.rows[table.level].value_counts().index
        return rows.assign(**{table.level: change(rows[table.level], common, rng)})

    broken.needs = "level"
    return broken


def all_moved(table, rows, rng):
    """Every number is increased by half a standard deviation."""
    numbers = rows.select_dtypes("number").columns
    return rows.assign(**{c: rows[c] + table.rows[c].std() / 2 for c in numbers})


def untied(table, rows, rng):
    """The column that most depends on another one belongs to other rows."""
    return rows.assign(**{table.tied: rng.permutation(rows[table.tied].to_numpy())})


def other_class(table, rows, rng):
    """Rows of another class."""
    return table.others.sample(len(rows), replace=True, random_state=int(rng.integers(2**31)))


all_moved.needs, untied.needs, other_class.needs, unbroken.needs = (
    "number",
    "tied",
    "others",
    "rows",
)
BREAKAGES = {
    "none": unbroken,
    "a column x 1,000": of_number(lambda x, sd, rng: 1000 * x),
    "+ 3 sd": of_number(lambda x, sd, rng: x + 3 * sd),
    "+ 0.5 sd in all": all_moved,
    "a column constant": of_number(lambda x, sd, rng: x * 0 + x.iloc[0]),
    "a level gone": of_level(lambda x, common, rng: x.where(x != common[0], common[1])),
    "a new level in 5 %": of_level(
        lambda x, common, rng: (
            x.astype(object).mask(rng.random(len(x)) < 0.05, "new")
            if not is_numeric_dtype(x)
            else x.mask(rng.random(len(x)) < 0.05, 10**6)
        )
    ),
    "a fifth missing": of_number(lambda x, sd, rng: x.mask(rng.random(len(x)) < 0.2)),
    "a dependence broken": untied,
    "two levels swapped": of_level(
        lambda x, common, rng: x.replace({common[0]: common[1], common[1]: common[0]})
    ),
    "1 % gross": of_number(lambda x, sd, rng: x.mask(rng.random(len(x)) < 0.01, x + 100 * sd)),
    "another class": other_class,
}


def doors_of(table, folder):
    """Name -> a function of calm rows, broken ones and a generator: a number to print, and whether it was seen."""
    learned = table.rows[:LEARNED]
    labels = np.arange(LEARNED) // OWN
    free = next(c for c in learned if c not in (table.number, table.level, table.tied))
    makers = {
        "rows": lambda: hld.HLDDetector(rng=0).fit(learned),
        "groups": lambda: hld.HLDDetector(rng=0).fit(learned.assign(day=labels), groups="day"),
        "time": lambda: hld.HLDDetector(rng=0).fit(learned, order="time"),
        "covariates": lambda: hld.HLDDetector(rng=0, covariates=[free]).fit(learned),
        "exported": lambda: hld.HLDDetector(rng=0, metric="likelihoods").fit(learned),
    }

    @functools.cache
    def fitted(kind):
        return makers[kind]()

    @functools.cache
    def monitored():
        return hld.Monitor(fitted("rows"))

    @functools.cache
    def program():
        return exported(fitted("exported"), folder)

    def whole(result):
        return result.pvalue, result.reject

    def segment(calm, broken, rng):
        both = pd.concat([calm[:BATCH].assign(part="calm"), broken[:BATCH].assign(part="broken")])
        found = fitted("rows").test_by(both, "part")
        i = list(found.labels).index("broken")
        return found.adjusted[i], found.reject[i]

    def day(calm, broken, rng):
        return whole(fitted("groups").test(broken[:OWN].assign(day=-1)))

    def sized(calm, broken, rng):
        result = fitted("rows").test(broken)
        return result.effect_interval[0], is_large(result, 0.05)

    def stream(calm, broken, rng):
        monitor = monitored()
        monitor.reset()
        monitor.update(calm)
        row = monitor.update(broken).alarm_row
        return (np.inf if row is None else row - CALM), row is not None

    def batch(judge, kind="rows"):
        return lambda calm, broken, rng: whole(judge(fitted(kind), broken[:BATCH]))

    def tested(detector, rows):
        return detector.test(rows)

    def in_database(detector, rows):
        import duckdb

        connection = duckdb.connect()
        connection.register("batch", rows)
        return hld.sql.judge(detector, connection, "batch")

    return {
        "test": batch(tested),
        "test_by": segment,
        "chunks": batch(lambda detector, rows: hld.judge_chunks(detector, [rows[:90], rows[90:]])),
        "summary": batch(
            lambda detector, rows: detector.test(
                detector.summarize(rows[:90]) + detector.summarize(rows[90:])
            )
        ),
        "sql": batch(in_database),
        "groups": day,
        "time": batch(tested, "time"),
        "covariates": batch(tested, "covariates"),
        "C program": lambda calm, broken, rng: program()(broken[:BATCH]),
        "effect": lambda calm, broken, rng: least_effect(fitted("rows").test(broken[:BATCH])),
        "--min-effect 0.05": sized,
        "test of 2,000": lambda calm, broken, rng: whole(fitted("rows").test(broken)),
        "monitor": stream,
    }


def least_effect(result):
    """The least share of rows that is sure, and whether there is any."""
    return result.effect_interval[0], result.effect_interval[0] > 0


def exported(detector, folder):
    """The C program of a detector as a function of rows: p-value, and whether it is at most alpha."""
    call, _ = compiled(detector, folder)

    def judge(rows):
        found = call(codes_of(detector, rows))[1]
        return found.pvalue, found.pvalue <= ALPHA

    return judge


def read_tables(options):
    """The tables that are asked for."""
    for name in [] if options.files else options.tables:
        table = datasets.load_table(name)
        frame = pd.DataFrame(table.values, columns=[f"x{i}" for i in range(table.values.shape[1])])
        for column in frame.columns[~table.is_numeric]:
            frame[column] = "level " + frame[column].astype(int).astype(str)
        yield Table(name, frame.assign(label=table.labels), "label")
    for path in options.files:
        frame = pd.read_csv(path)
        yield Table(path.stem, frame, frame.columns[-1])


def print_table(table, doors, options):
    """The table of doors and breakages of one table."""
    doors = {name: doors[name] for name in options.doors or doors}
    print(f"\n{table.name}: {len(table.rows)} rows of {len(table.rows.columns)} columns\n")
    print("| broken | " + " | ".join(doors) + " |\n| --- |" + " --- |" * len(doors), flush=True)
    for name in options.breakages:
        change = BREAKAGES[name]
        if getattr(table, change.needs) is None or not len(getattr(table, change.needs)):
            continue
        cells = {door: [] for door in doors}
        for draw in range(options.draws):
            rng = np.random.default_rng([draw, *name.encode()])
            calm, rows = table.draw(rng, CALM), table.draw(rng, LONG)
            broken = change(table, rows, rng)
            for door, ask in doors.items():
                cells[door].append(ask(calm, broken, rng))
        shown = [
            f"{np.mean([seen for _, seen in found]):.2f} ({np.median([x for x, _ in found]):.1g})"
            for found in cells.values()
        ]
        print(f"| {name} | " + " | ".join(shown) + " |", flush=True)


def main():
    """Print the table of doors and breakages of each table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", nargs="+", default=["adult", "covertype", "sensorless"])
    parser.add_argument("--files", nargs="+", type=pathlib.Path, default=[])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--doors", nargs="+", help="some of them; by default all")
    parser.add_argument("--breakages", nargs="+", default=list(BREAKAGES), choices=list(BREAKAGES))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for table in read_tables(options):
        with tempfile.TemporaryDirectory() as folder:
            print_table(table, doors_of(table, pathlib.Path(folder)), options)


if __name__ == "__main__":
    main()
