"""The commands of ``hld``: what each one runs, an example in its help, and its options."""

import argparse
import csv
from collections.abc import Callable
from typing import Any, NamedTuple

from hld.apps.command.output import flush_output, send
from hld.tables.shown_names import printable

FLAG: dict[str, Any] = {"action": "store_true"}
ONE_TABLE = " (a command reads one table: run it once for each, or put the tables together)"
STATUS = (
    "exit status: 0 no shift found, 1 shift found, 2 error, 3 no odd segment could be called (--by)"
)
FORMAT, LIMITS = "format of the table (detected where not given)", "limits"  # groups of options
# options on the format of text, and on that of all files, with their defaults
OF_TEXT: dict[str, Any] = {
    "sep": None,
    "no_header": False,
    "decimal": None,
    "encoding": "utf-8",
    "na_values": [],
}
OF_FILES: dict[str, Any] = OF_TEXT | {"columns": None, "drop": [], "format": None}


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

    def print_help(self, file: Any = None) -> None:
        """Help that does not arrive is an error, which argparse would pass over."""
        send(self.format_help())

    def exit(self, status: Any = 0, message: Any = None) -> Any:
        """Leave after all that was printed has arrived."""
        flush_output()
        super().exit(status, message)

    def error(self, message: Any) -> None:  # type: ignore[override]
        """The usage and one line on standard error, and status 2."""
        super().error(printable(message))


class _Version(argparse.Action):
    """Prints the version, which is only imported when asked for."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        import pcircuit

        send(f"hld {pcircuit.__version__}\n")
        parser.exit()


def build_parser() -> Parser:
    """The commands and their options."""
    parser = Parser(
        prog="hld",
        description="Does a batch of data still follow the distribution that a model learned?",
        epilog=f"{STATUS}. Tables are CSV, Parquet, JSON lines or JSON; '-' reads standard input; "
        "empty cells are missing.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
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
        command.set_defaults(run=one.run, parser=parser)
        groups: dict[str | None, Any] = {None: command}
        for names, group, settings in one.options:
            if group not in groups:
                groups[group] = command.add_argument_group(group)
            groups[group].add_argument(*names, **settings)
    return parser


def option(*names: str, group: str | None = None, **settings: Any) -> tuple[Any, ...]:
    """An option or an argument, in a group of the help, as `argparse` takes it."""
    return names, group, settings


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


def reading(of_format: str = "default: by the extension of the name") -> tuple[Any, ...]:
    """``--sep`` and the other options on the format of a table, with the help of ``--format``."""
    tab = r"separates cells: one character ('\t' is a tab)"
    missing = "texts that mean a missing cell, besides empty ones, NA, NaN, null and the like"
    lists: dict[str, Any] = {"metavar": "A,B", "type": names}
    formats = ("csv", "parquet", "jsonl", "json")
    options: dict[str, dict[str, Any]] = {
        "--sep": {"type": separator, "help": tab},
        "--no-header": {**FLAG, "help": "the first row is data: columns are x0, x1, ..."},
        "--decimal": {"choices": (".", ","), "help": "decimal mark: '.' or ','"},
        "--encoding": {"default": "utf-8", "help": "encoding (default utf-8)"},
        "--na-values": {**lists, "default": [], "help": missing},
        "--columns": {**lists, "help": "read these columns only"},
        "--drop": {**lists, "default": [], "help": "do not read these columns"},
        "--format": {"choices": formats, "help": of_format},
    }
    return tuple(option(name, group=FORMAT, **how) for name, how in options.items())


def table(
    name: str = "BATCH.csv", text: str = "rows with the columns of training", **how: Any
) -> Any:
    """The table that a command reads."""
    return option("table", metavar=name, help=text, **how)


def grouping(text: str) -> tuple[Any, ...]:
    """``--groups``."""
    return option("--groups", metavar="COLUMN", type=words, help=text)


def edits(text: str) -> tuple[Any, ...]:
    """``--edit``."""
    return option(
        "--edit",
        action="append",
        metavar="COLUMN=LEVEL:CHANGE",
        type=words,
        help=f"{text}, such as sex=F:+0.05; may be repeated",
    )


def seed(of: str = "") -> tuple[Any, ...]:
    """``--seed``."""
    return option("--seed", type=SEED, default=0, help=f"seed{of} (default 0)")


MODEL = option("model", metavar="MODEL", help="model file")
ALPHA = option("--alpha", type=float, default=0.05, help="level of the test (default 0.05)")
JSON = option("--json", help="print one JSON object (its schema: docs/json)", **FLAG)
REPORT = option("--report", metavar="FILE.html", help="also write a report, a page of HTML")
COMMANDS = {
    "fit": Command(
        "models.fit",
        "learn the distribution of a table",
        "hld fit train.csv -o model.hld --categorical zip",
        (
            table("TRAIN.csv", "training rows, with a header"),
            option("-o", "--output", metavar="MODEL", required=True, help="model file to write"),
            option(
                "--num-latents",
                type=int,
                default=4,
                help="states of each hidden variable (default 4)",
            ),
            option(
                "--num-epochs", type=int, default=100, help="EM passes over the rows (default 100)"
            ),
            option(
                "--num-bins",
                type=int,
                default=8,
                help="quantile bins of a continuous column (default 8)",
            ),
            option(
                "--leaves",
                choices=("bins", "auto", "gaussian", "atoms", "histogram"),
                default="bins",
                help="numbers as bins, or as densities (docs/continuous.md; default bins)",
            ),
            option(
                "--metric",
                choices=("auto", "likelihoods"),
                default="auto",
                help="what is compared; 'likelihoods' for models to be exported (default auto)",
            ),
            option(
                "--schema",
                metavar="FILE.json",
                help="what is known about the columns (docs/tables.md); the rest is learned",
            ),
            option(
                "--max-rows",
                type=whole_number(4),
                metavar="N",
                help="learn from a uniform sample of N rows of a longer table, with --order time from the "
                "last N (default 200000, of more than 250 columns as many as have 50 million cells)",
            ),
            grouping("day or site of each row: a batch is tested as one more group of this kind"),
            option(
                "--order",
                choices=("time",),
                help="rows are in order of time and depend on their neighbours: batches are stretches of time",
            ),
            option(
                "--covariates",
                metavar="A,B",
                type=names,
                help="columns that may shift: the test asks whether the others, given these, are as learned",
            ),
            option(
                "--categorical", metavar="A,B", type=names, help="columns to treat as categorical"
            ),
            option(
                "--continuous", metavar="C,D", type=names, help="columns to treat as continuous"
            ),
            option(
                "--calendar",
                metavar="A,B",
                type=names,
                help="columns of dates to replace by the day of the week and the hour",
            ),
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
                metavar="FILE.json",
                nargs="+",
                help="in place of a table: what `hld summarize` wrote, of one site or several",
            ),
            option(
                "--sql",
                metavar="QUERY",
                type=words,
                help="in place of a table: a SELECT, or the name of a table in a database, which counts it "
                "and sends no row (needs hld[sql])",
            ),
            option(
                "--database",
                metavar="URL",
                default="",
                help="with --sql: duckdb://FILE, postgres://user@host/base, ... (default DuckDB in memory, "
                "whose queries may read files)",
            ),
            option(
                "--min-effect",
                type=float,
                metavar="X",
                help="status 1 only if surely at least this share of the rows, from 0 to 1, are others",
            ),
            REPORT,
            option(
                "--by",
                metavar="COLUMN",
                type=words,
                help="test each segment by itself: the rows with one value of a column",
            ),
            option(
                "--every",
                choices=("year", "month", "day", "hour", "minute"),
                help="with --by and times, how long a segment is",
            ),
            *reading(),
        ),
        STATUS,
    ),
    "explain": Command(
        "judging.explain",
        "test a batch and name the columns that carry the shift",
        "hld explain model.hld batch.csv --top 5",
        (
            MODEL,
            table(),
            ALPHA,
            JSON,
            option("--top", type=int, default=10, help="nodes and columns to list (default 10)"),
            *reading(),
        ),
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
            option("-n", "--num-rows", type=int, required=True, metavar="N", help="rows to draw"),
            option(
                "--where",
                metavar="CONDITION",
                type=words,
                help="which all rows satisfy: ==, !=, <, <=, >, >=, in, joined by and",
            ),
            option(
                "-o",
                "--output",
                metavar="OUT.csv",
                default="-",
                help="file to write (default: standard output)",
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
                type=POSITIVE,
                metavar="N",
                help="rows from one line to the next (default 100), or groups (default 1)",
            ),
            option(
                "--alarm-only", help="print only the line of the alarm and the last line", **FLAG
            ),
            option("--stop", help="exit at the alarm", **FLAG),
            option(
                "--reference",
                metavar="HELDOUT.csv",
                help="rows to compare with that the model did not learn from (default: its held-out rows, of "
                "which it keeps counts: docs/monitoring.md)",
            ),
            grouping(
                "with --reference: day or site of each row; successive rows of one group are a batch, "
                "which is compared with the groups of the reference, for models of groups"
            ),
            option(
                "--state",
                metavar="FILE",
                help="continue from this file if it exists; it is written before each line",
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
            option("models", metavar="MODEL", nargs="+", help="model file, or NAME=FILE"),
            option(
                "--host",
                default="127.0.0.1",
                help="address (default 127.0.0.1; others need a token)",
            ),
            option(
                "--port", type=SEED, default=8000, help="port (default 8000; 0 takes a free one)"
            ),
            option(
                "--token-file",
                metavar="FILE",
                help="file with the token that requests must carry (default: the variable HLD_TOKEN, if set)",
            ),
            option(
                "--state",
                metavar="FOLDER",
                help="keep the state of the monitors there, so that it survives a crash",
            ),
            option(
                "--watch",
                type=float,
                default=2.0,
                metavar="SECONDS",
                help="time between checks for new model files (default 2; 0: never)",
            ),
            ALPHA,
            option(
                "--max-bytes",
                type=POSITIVE,
                default=2**23,
                help="largest body (default 8388608)",
                group=LIMITS,
            ),
            option(
                "--max-rows",
                type=POSITIVE,
                default=100_000,
                help="longest table (default 100000)",
                group=LIMITS,
            ),
            option(
                "--seconds",
                type=float,
                default=30.0,
                help="time limit of an answer (default 30)",
                group=LIMITS,
            ),
            option(
                "--workers",
                type=POSITIVE,
                default=1,
                help="processes that compute (default 1: the threads of this one)",
                group=LIMITS,
            ),
            option(
                "--queue",
                type=SEED,
                default=64,
                help="requests that may wait for a thread (default 64)",
                group=LIMITS,
            ),
        ),
        "stops at SIGTERM; SIGHUP reads the model files again (docs/how-to/serve.md)",
    ),
    "diff": Command(
        "models.diff",
        "compare two models, column by column",
        "hld diff january.hld february.hld",
        (
            option("first", metavar="MODEL_A", help="model file"),
            option("second", metavar="MODEL_B", help="model file"),
            JSON,
        ),
    ),
    "export": Command(
        "models.export",
        "write the test as a program that needs no Python",
        "hld export orders.hld --c orders.c --onnx orders.onnx",
        (
            option(
                "model",
                metavar="MODEL",
                help="model file, written by `hld fit --metric likelihoods`",
            ),
            option("--c", metavar="FILE.c", help="one file of C99"),
            option("--onnx", metavar="FILE.onnx", help="an ONNX graph (needs hld[onnx])"),
        ),
    ),
    "plan": Command(
        "models.plan",
        "what a model will detect with so many rows a day, and when",
        "hld plan model.hld --rows-per-day 200 --edit sex=F:+0.05",
        (
            MODEL,
            option(
                "--rows-per-day", type=POSITIVE, required=True, metavar="N", help="rows per day"
            ),
            edits("a change to ask about"),
            option(
                "--power", type=float, default=0.9, help="probability of detection (default 0.9)"
            ),
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
            option("-o", "--output", metavar="FILE.json", required=True, help="file to write"),
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
                type=sizes,
                default=[10, 50, 200],
                metavar="N,N",
                help="rows of a batch (default 10,50,200)",
            ),
            option(
                "--num-batches",
                type=POSITIVE,
                default=200,
                metavar="N",
                help="batches of each size and kind (default 200)",
            ),
            edits("a shift to measure the power against"),
            grouping(
                "also test each of its groups as one batch; for models of groups the column of the fit, "
                "by default"
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
            option(
                "--output",
                metavar="FILE.png",
                default="hld-demo.png",
                help="picture (default hld-demo.png)",
            ),
            option(
                "--digit",
                type=int,
                choices=range(10),
                default=2,
                metavar="0..9",
                help="digit to learn (default 2)",
            ),
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
