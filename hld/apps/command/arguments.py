"""The commands of ``hld``: what each one runs, an example in its help, and its options."""

import argparse
import csv
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import pcircuit
from hld.apps.command.output import flush_output, send
from hld.tables.shown_names import printable

ONE_TABLE = " (a command reads one table: run it once for each, or put the tables together)"
STATUS = (
    "exit status: 0 no shift found, 1 shift found, 2 error, 3 no odd segment could be called (--by)"
)
FORMAT = "format of the table (detected where not given)"  # of options in the help
# options on the format of text, and on that of all files
OF_TEXT = ("sep", "no_header", "decimal", "encoding", "na_values")
OF_FILES = (*OF_TEXT, "columns", "drop", "format")


class Command(NamedTuple):
    """A command: its module and function, what it does, an example, its options, and a note below the example."""

    run: str
    text: str
    example: str
    options: tuple[Any, ...]
    note: str = ""


class Parser(argparse.ArgumentParser):
    """Escapes what it quotes of the arguments, such as the names of files."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Arguments all of which are known; an error that says that a command reads one table."""
        found, rest = self.parse_known_args(args, namespace)
        if rest:
            is_table = not any(word.startswith("-") for word in rest)
            self.error(f"unrecognized arguments: {' '.join(rest)}{ONE_TABLE * is_table}")
        return found

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Also takes a table that may be left out where it stands behind options, which argparse misses."""
        found, rest = super().parse_known_args(args, namespace)
        if (
            rest
            and getattr(found, "table", "") is None
            and (rest[0] == "-" or not rest[0].startswith("-"))
        ):
            found.table = rest.pop(0)
        return found, rest

    def _print_message(self, message: Any, file: Any = None) -> None:
        """Help that does not arrive is an error, which argparse would pass over."""
        if file is sys.stderr:
            super()._print_message(message, file)
        else:
            send(message)

    def exit(self, status: Any = 0, message: Any = None) -> Any:
        """Leave after all that was printed has arrived."""
        flush_output()
        super().exit(status, message)

    def error(self, message: Any) -> None:  # type: ignore[override]
        """The usage and one line on standard error, and status 2."""
        super().error(printable(message))


def build_parser() -> Parser:
    """The commands and their options."""
    parser = Parser(
        prog="hld",
        description="Does a batch of data still follow the distribution that a model learned?",
        epilog=f"{STATUS}. Tables are CSV, Parquet, JSON lines or JSON; '-' reads standard input; "
        "empty cells are missing.",
    )
    parser.add_argument(
        "--version",
        action="version",
        version=f"hld {pcircuit.__version__}",
        help="print the version and exit",
    )
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.add_argument(
        "--verbose", action="store_true", help="log each step with its time on standard error"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, one in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=one.text,
            description=f"{one.text[0].upper()}{one.text[1:]}.",
            epilog=f"example:\n  {one.example}" + (f"\n\n{one.note}" if one.note else ""),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        # without a default here, one of these before the command would be reset
        for same in ("--debug", "--verbose"):
            command.add_argument(
                same, action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS
            )
        command.set_defaults(run=one.run, parser=command)
        groups: dict[str | None, Any] = {None: command}
        for own_names, group, settings in one.options:
            if group not in groups:
                groups[group] = command.add_argument_group(group)
            groups[group].add_argument(*own_names, **settings)
    return parser


def option(
    names: str, text: str, metavar: str | None = None, group: str | None = None, **settings: Any
) -> tuple[Any, ...]:
    """An option or an argument, in a group of the help, with further settings of `argparse`."""
    return names.split(), group, {"help": text, "metavar": metavar, **settings}


def flag(name: str, text: str, group: str | None = None) -> tuple[Any, ...]:
    """An option without a value."""
    return [name], group, {"help": text, "action": "store_true"}


def known(name: str, text: str, default: Any, *more: Any, **settings: Any) -> tuple[Any, ...]:
    """An option of the type of its default, which the help names."""
    how = {"type": type(default), "default": default, **settings}
    return option(name, f"{text} (default {default})", *more, **how)


def whole_number(least: int) -> Callable[[str], int]:
    """What reads a whole number of at least so much."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(
                f"expected a whole number of at least {least}, found {text!r}"
            )
        return int(text)

    return read


SEED, POSITIVE = whole_number(0), whole_number(1)


def sizes(text: str) -> list[int]:
    """Whole numbers of at least 1, separated by commas."""
    return list(map(POSITIVE, text.split(",")))


def words(argument: str) -> str:
    """What an argument says about the table: UTF-8, of which Python keeps the bytes where the locale is ASCII."""
    return argument.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def names(argument: str) -> list[str]:
    """Column names in a list separated by commas; a name with a comma is put in double quotes."""
    try:
        return next(csv.reader([words(argument)], skipinitialspace=True), [])
    except csv.Error:
        raise argparse.ArgumentTypeError(
            f"expected names separated by commas, found {argument!r}: put a name with a "
            "line break in double quotes"
        ) from None


def separator(argument: str) -> str:
    """One character; backslash t is a tab."""
    text = "\t" if argument == r"\t" else words(argument)
    if len(text) != 1 or text in '\r\n"':
        raise argparse.ArgumentTypeError(f"expected one character, found {text!r}")
    return text


def listed(name: str, text: str, metavar: str = "A,B", **settings: Any) -> tuple[Any, ...]:
    """Names in a list."""
    return option(name, text, metavar, type=names, **settings)


def reading(of_format: str = "default: by the extension of the name") -> tuple[Any, ...]:
    """``--sep`` and the other options on the format of a table, with the help of ``--format``."""
    tab = r"separates cells: one character ('\t' is a tab)"
    missing = "texts that mean a missing cell, besides empty ones, NA, NaN, null and the like"
    formats = ("csv", "parquet", "jsonl", "json")
    return (
        option("--sep", tab, group=FORMAT, type=separator),
        flag("--no-header", "the first row is data: columns are x0, x1, ...", FORMAT),
        option("--decimal", "decimal mark: '.' or ','", group=FORMAT, choices=(".", ",")),
        known("--encoding", "encoding", "utf-8", None, FORMAT),
        listed("--na-values", missing, group=FORMAT, default=[]),
        listed("--columns", "read these columns only", group=FORMAT),
        listed("--drop", "do not read these columns", group=FORMAT, default=[]),
        option("--format", of_format, group=FORMAT, choices=formats),
    )


def table(
    name: str = "BATCH.csv", text: str = "rows with the columns of training", **how: Any
) -> tuple[Any, ...]:
    """The table that a command reads."""
    return option("table", text, name, **how)


def column(name: str, text: str) -> tuple[Any, ...]:
    """The name of a column."""
    return option(name, text, "COLUMN", type=words)


def edits(text: str) -> tuple[Any, ...]:
    """``--edit``."""
    example = f"{text}, such as sex=F:+0.05; may be repeated"
    return option("--edit", example, "COLUMN=LEVEL:CHANGE", action="append", type=words)


def seed(of: str = "") -> tuple[Any, ...]:
    """``--seed``."""
    return known("--seed", f"seed{of}", 0, type=SEED)


def limit(name: str, text: str, default: Any, **settings: Any) -> tuple[Any, ...]:
    """A bound of the service."""
    return known(name, text, default, None, "limits", **settings)


MODEL = option("model", "model file", "MODEL")
ALPHA = known("--alpha", "level of the test", 0.05)
JSON = flag("--json", "print one JSON object (its schema: docs/json)")
REPORT = option("--report", "also write a report, a page of HTML", "FILE.html")
COMMANDS = {
    "fit": Command(
        "models.fit",
        "learn the distribution of a table",
        "hld fit train.csv -o model.hld --categorical zip",
        (
            table("TRAIN.csv", "training rows, with a header"),
            option("-o --output", "model file to write", "MODEL", required=True),
            known("--num-latents", "states of each hidden variable", 4),
            known("--num-epochs", "EM passes over the rows", 100),
            known("--num-bins", "quantile bins of a continuous column", 8),
            known(
                "--leaves",
                "numbers as bins, or as densities (docs/continuous.md)",
                "bins",
                choices=("bins", "auto", "gaussian", "atoms", "histogram"),
            ),
            known(
                "--metric",
                "what is compared; 'likelihoods' for models to be exported",
                "auto",
                choices=("auto", "likelihoods"),
            ),
            option(
                "--schema",
                "what is known about the columns (docs/tables.md); the rest is learned",
                "FILE.json",
            ),
            option(
                "--max-rows",
                "learn from a uniform sample of N rows of a longer table, with --order time from the "
                "last N (default 200000, of more than 250 columns as many as have 50 million cells)",
                "N",
                type=whole_number(4),
            ),
            column(
                "--groups",
                "day or site of each row: a batch is tested as one more group of this kind",
            ),
            option(
                "--order",
                "rows are in order of time and depend on their neighbours: batches are stretches of time",
                choices=("time",),
            ),
            listed(
                "--covariates",
                "columns that may shift: the test asks whether the others, given these, are as learned",
            ),
            listed("--categorical", "columns to treat as categorical"),
            listed("--continuous", "columns to treat as continuous", "C,D"),
            listed("--calendar", "columns of dates to replace by the day of the week and the hour"),
            seed(" of the start values"),
            *reading(),
        ),
    ),
    "test": Command(
        "judging.test",
        "test whether a batch follows a model",
        "hld test model.hld batch.csv --report report.html\n  hld test model.hld visits.csv --by day",
        (
            MODEL,
            table(nargs="?"),
            ALPHA,
            JSON,
            option(
                "--summary",
                "in place of a table: what `hld summarize` wrote, of one site or several",
                "FILE.json",
                nargs="+",
            ),
            option(
                "--sql",
                "in place of a table: a SELECT, or the name of a table in a database, which counts it "
                "and sends no row (needs hld[sql])",
                "QUERY",
                type=words,
            ),
            option(
                "--database",
                "with --sql: duckdb://FILE, postgres://user@host/base, ... (default DuckDB in memory, "
                "whose queries may read files)",
                "URL",
                default="",
            ),
            option(
                "--min-effect",
                "status 1 only if surely at least this share of the rows, from 0 to 1, are others",
                "X",
                type=float,
            ),
            REPORT,
            column("--by", "test each segment by itself: the rows with one value of a column"),
            option(
                "--every",
                "with --by and times, how long a segment is",
                choices=("year", "month", "day", "hour", "minute"),
            ),
            *reading(),
        ),
        STATUS,
    ),
    "explain": Command(
        "judging.explain",
        "test a batch and name the columns that carry the shift",
        "hld explain model.hld batch.csv --top 5",
        (MODEL, table(), ALPHA, JSON, known("--top", "nodes and columns to list", 10), *reading()),
        STATUS,
    ),
    "info": Command(
        "models.info", "describe a model file", "hld info model.hld --json", (MODEL, JSON)
    ),
    "sample": Command(
        "models.sample",
        "draw rows from a model, as CSV",
        "hld sample model.hld -n 1000 --where 'age > 40 and sex == \"F\"' -o rows.csv",
        (
            MODEL,
            option("-n --num-rows", "rows to draw", "N", type=int, required=True),
            option(
                "--where",
                "which all rows satisfy: ==, !=, <, <=, >, >=, in, joined by and",
                "CONDITION",
                type=words,
            ),
            option(
                "-o --output", "file to write (default: standard output)", "OUT.csv", default="-"
            ),
            seed(),
        ),
    ),
    "monitor": Command(
        "streaming.monitor",
        "watch rows on standard input: a JSON line for every n rows, and at the alarm",
        "tail -f rows.csv | hld monitor model.hld --every 100",
        (
            MODEL,
            option(
                "--every",
                "rows from one line to the next (default 100), or groups (default 1)",
                "N",
                type=POSITIVE,
            ),
            flag("--alarm-only", "print only the line of the alarm and the last line"),
            flag("--stop", "exit at the alarm"),
            option(
                "--reference",
                "rows to compare with that the model did not learn from (default: its held-out rows, of "
                "which it keeps counts: docs/monitoring.md)",
                "HELDOUT.csv",
            ),
            column(
                "--groups",
                "with --reference: day or site of each row; successive rows of one group are a batch, "
                "which is compared with the groups of the reference, for models of groups",
            ),
            option(
                "--state",
                "continue from this file if it exists; it is written before each line",
                "FILE",
            ),
            ALPHA,
            *reading(
                "that of --reference (default: by the extension of its name); the rows are CSV"
            ),
        ),
        "exit status: 0 no alarm, 1 alarm, 2 error",
    ),
    "serve": Command(
        "serving.serve",
        "serve models over HTTP, with a page in the browser",
        "hld serve orders.hld --state /var/lib/hld --port 8000",
        (
            option("models", "model file, or NAME=FILE", "MODEL", nargs="+"),
            known("--host", "address; others need a token", "127.0.0.1"),
            known("--port", "port; 0 takes a free one", 8000, type=SEED),
            option(
                "--token-file",
                "file with the token that requests must carry (default: the variable HLD_TOKEN, if set)",
                "FILE",
            ),
            option(
                "--state",
                "keep the state of the monitors there, so that it survives a crash",
                "FOLDER",
            ),
            known("--watch", "time between checks for new model files; 0: never", 2.0, "SECONDS"),
            ALPHA,
            limit("--max-bytes", "largest body", 2**23, type=POSITIVE),
            limit("--max-rows", "longest table", 100_000, type=POSITIVE),
            limit("--seconds", "time limit of an answer", 30.0),
            limit(
                "--workers",
                "processes that compute; 1: the threads of this one",
                1,
                type=POSITIVE,
            ),
            limit("--queue", "requests that may wait for a thread", 64, type=SEED),
        ),
        "stops at SIGTERM; SIGHUP reads the model files again (docs/how-to/serve.md)",
    ),
    "diff": Command(
        "models.diff",
        "compare two models, column by column",
        "hld diff january.hld february.hld",
        (
            option("first", "model file", "MODEL_A"),
            option("second", "model file", "MODEL_B"),
            JSON,
        ),
    ),
    "export": Command(
        "models.export",
        "write the test as a program that needs no Python",
        "hld export orders.hld --c orders.c --onnx orders.onnx",
        (
            option("model", "model file, written by `hld fit --metric likelihoods`", "MODEL"),
            option("--c", "one file of C99", "FILE.c"),
            option("--onnx", "an ONNX graph (needs hld[onnx])", "FILE.onnx"),
        ),
    ),
    "plan": Command(
        "models.plan",
        "what a model will detect with so many rows a day, and when",
        "hld plan model.hld --rows-per-day 200 --edit sex=F:+0.05",
        (
            MODEL,
            option("--rows-per-day", "rows per day", "N", type=POSITIVE, required=True),
            edits("a change to ask about"),
            known("--power", "probability of detection", 0.9),
            ALPHA,
            JSON,
        ),
    ),
    "summarize": Command(
        "judging.summarize",
        "write sums over a table that can be tested in its place",
        "hld summarize model.hld site-a.csv -o a.json\n  hld test model.hld --summary a.json b.json",
        (
            MODEL,
            table(),
            option("-o --output", "file to write", "FILE.json", required=True),
            *reading(),
        ),
    ),
    "audit": Command(
        "judging.audit",
        "measure level, power and drift on rows that a model has not seen",
        "hld audit model.hld heldout.csv --edit sex=F:+0.05 --report audit.html",
        (
            MODEL,
            table("HELDOUT.csv", "rows that the model has not seen"),
            ALPHA,
            JSON,
            option(
                "--sizes",
                "rows of a batch (default 10,50,200)",
                "N,N",
                type=sizes,
                default=[10, 50, 200],
            ),
            known("--num-batches", "batches of each size and kind", 200, "N", type=POSITIVE),
            edits("a shift to measure the power against"),
            column(
                "--groups",
                "also test each of its groups as one batch; for models of groups the column of the fit, "
                "by default",
            ),
            REPORT,
            seed(" of the batches"),
            *reading(),
        ),
        "exit status: 0 the level is kept, 1 it is not, 2 error",
    ),
    "demo": Command(
        "demo.demo",
        "show the method on handwritten digits (needs hld[demo])",
        "hld demo --digit 7",
        (
            JSON,
            known("--output", "picture", "hld-demo.png", "FILE.png"),
            known("--digit", "digit to learn", 2, "0..9", choices=range(10)),
            seed(),
        ),
    ),
    "warm-up": Command(
        "serving.warm_up",
        "compile all kernels now and keep them on disk",
        "NUMBA_CACHE_DIR=/var/cache/numba hld warm-up",
        (),
        "for the build of a container: later processes with the same NUMBA_CACHE_DIR, which they may "
        "write to, compile nothing",
    ),
}
