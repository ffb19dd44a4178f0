"""The commands of ``hld`` and their options, with an example in the help of each."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from hld.command import shells, warming
from hld.command.batches import auditing, judging, serving, streaming, summarizing
from hld.command.console.output import send
from hld.command.console.reading import add_reading_options, names, separator, words
from hld.command.models import compare, drawing, exporting, learning, planning
from hld.command.option_parser import Parser

STATUS = "exit status: 0 no shift found, 1 shift found, 2 error"
EXAMPLES = {
    "fit": "hld fit train.csv -o model.hld --categorical zip",
    "test": "hld test model.hld batch.csv --report report.html\n  hld test model.hld visits.csv --by day",
    "explain": "hld explain model.hld batch.csv --top 5",
    "info": "hld info model.hld --json",
    "sample": "hld sample model.hld -n 1000 --where 'age > 40 and sex == \"F\"' -o rows.csv",
    "monitor": "tail -f rows.csv | hld monitor model.hld --every 100",
    "serve": "hld serve orders.hld --state /var/lib/hld --port 8000",
    "export": "hld export orders.hld --c orders.c --onnx orders.onnx",
    "plan": "hld plan model.hld --rows-per-day 200 --edit sex=F:+0.05",
    "summarize": "hld summarize model.hld site-a.csv -o a.json\n  hld test model.hld --summary a.json b.json",
    "audit": "hld audit model.hld heldout.csv --edit sex=F:+0.05 --report audit.html",
    "diff": "hld diff january.hld february.hld",
    "demo": "hld demo --digit 7",
    "warm-up": "NUMBA_CACHE_DIR=/var/cache/numba hld warm-up",
    "completion": "hld completion bash > /etc/bash_completion.d/hld",
}
JSON = "print one JSON object (its schema: docs/json)"


def build_parser() -> argparse.ArgumentParser:
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
    _add_fit(commands)
    _add_test(commands)
    _add_explain(commands)
    info = _add(commands, "info", learning.info, "describe a model file")
    info.add_argument("model", metavar="MODEL", help="model file")
    info.add_argument("--json", action="store_true", help=JSON)
    _add_sample(commands)
    _add_monitor(commands)
    _add_serve(commands)
    _add_diff(commands)
    export = _add(
        commands, "export", exporting.export, "write the test as a program that needs no Python"
    )
    export.add_argument(
        "model", metavar="MODEL", help="model file, written by `hld fit --metric likelihoods`"
    )
    export.add_argument("--c", metavar="FILE.c", help="one file of C99")
    export.add_argument("--onnx", metavar="FILE.onnx", help="an ONNX graph (needs hld[onnx])")
    _add_plan(commands)
    _add_summarize(commands)
    _add_audit(commands)
    _add_demo(commands)
    _add(
        commands,
        "warm-up",
        warming.warm_up,
        "compile all kernels now and keep them on disk",
        "for the build of a container: later processes with the same NUMBA_CACHE_DIR, which they may write to, "
        "compile nothing",
    )
    completion = _add(
        commands,
        "completion",
        shells.completion,
        "print a script for command completion in a shell",
    )
    completion.add_argument("shell", choices=shells.SHELLS, help="the shell (needs hld[cli])")
    completion.set_defaults(parser=parser)
    return parser


class _Version(argparse.Action):
    """Prints the version, which is only imported when asked for."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        import pcircuit

        send(f"hld {pcircuit.__version__}\n")
        parser.exit()


def _add(commands: Any, name: str, run: Callable[..., Any], text: str, note: str = "") -> Parser:
    """A command, with an example."""
    epilog = f"example:\n  {EXAMPLES[name]}" + (f"\n\n{note}" if note else "")
    command = commands.add_parser(
        name,
        help=text,
        description=f"{text[0].upper()}{text[1:]}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    # Without a default here, one of these before the command would be reset.
    for option in ("--debug", "--verbose"):
        command.add_argument(
            option, action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS
        )
    command.set_defaults(run=run)
    return command


def _add_fit(commands: Any) -> None:
    """``hld fit``."""
    fit = _add(commands, "fit", learning.fit, "learn the distribution of a table")
    fit.add_argument("table", metavar="TRAIN.csv", help="training rows, with a header")
    fit.add_argument("-o", "--output", metavar="MODEL", required=True, help="model file to write")
    fit.add_argument(
        "--num-latents", type=int, default=4, help="states of each hidden variable (default 4)"
    )
    fit.add_argument(
        "--num-epochs", type=int, default=100, help="EM passes over the rows (default 100)"
    )
    fit.add_argument(
        "--num-bins", type=int, default=8, help="quantile bins of a continuous column (default 8)"
    )
    fit.add_argument(
        "--metric",
        choices=("auto", "likelihoods"),
        default="auto",
        help="what is compared; 'likelihoods' for models to be exported (default auto)",
    )
    fit.add_argument(
        "--schema",
        metavar="FILE.json",
        help="what is known about the columns (docs/tables.md); the rest is learned",
    )
    fit.add_argument(
        "--max-rows",
        type=_count,
        metavar="N",
        help="learn from a uniform sample of N rows of a longer table, with --order time from the last N "
        "(default 200000, of more than 250 columns as many as have 50 million cells)",
    )
    fit.add_argument(
        "--groups",
        metavar="COLUMN",
        type=words,
        help="day or site of each row: a batch is tested as one more group of this kind",
    )
    fit.add_argument(
        "--order",
        choices=("time",),
        help="rows are in order of time and depend on their neighbours: batches are stretches of time",
    )
    fit.add_argument(
        "--covariates",
        metavar="A,B",
        type=names,
        help="columns that may shift: the test asks whether the others, given these, are as learned",
    )
    fit.add_argument(
        "--categorical", metavar="A,B", type=names, help="columns to treat as categorical"
    )
    fit.add_argument(
        "--continuous", metavar="C,D", type=names, help="columns to treat as continuous"
    )
    fit.add_argument(
        "--calendar",
        metavar="A,B",
        type=names,
        help="columns of dates to replace by the day of the week and the hour",
    )
    fit.add_argument("--seed", type=_seed, default=0, help="seed of the start values (default 0)")
    add_reading_options(fit)


def _add_test(commands: Any) -> None:
    """``hld test``."""
    test = _add(commands, "test", judging.test, "test whether a batch follows a model", STATUS)
    _add_batch(test, "?")
    test.add_argument(
        "--summary",
        metavar="FILE.json",
        nargs="+",
        help="in place of a table: what `hld summarize` wrote, of one site or several",
    )
    test.add_argument(
        "--sql",
        metavar="QUERY",
        type=words,
        help="in place of a table: a SELECT, or the name of a table in a database, which counts it and "
        "sends no row (needs hld[sql])",
    )
    test.add_argument(
        "--database",
        metavar="URL",
        default="",
        help="with --sql: duckdb://FILE, postgres://user@host/base, ... (default DuckDB in memory, "
        "whose queries may read files)",
    )
    test.add_argument(
        "--min-effect",
        type=float,
        metavar="X",
        help="status 1 only if the whole 95 %% interval of the effect size is at least X",
    )
    test.add_argument("--report", metavar="FILE.html", help="also write a report, a page of HTML")
    test.add_argument(
        "--by",
        metavar="COLUMN",
        type=words,
        help="test each segment by itself: the rows with one value of a column",
    )
    test.add_argument(
        "--every",
        choices=("year", "month", "day", "hour", "minute"),
        help="with --by and times, how long a segment is",
    )
    test.add_argument(
        "--procedure",
        choices=("bh", "by"),
        help="with --by, false discovery control: Benjamini-Hochberg (default) or Benjamini-Yekutieli",
    )


def _add_explain(commands: Any) -> None:
    """``hld explain``."""
    explain = _add(
        commands,
        "explain",
        judging.explain,
        "test a batch and name the columns that carry the shift",
        STATUS,
    )
    _add_batch(explain)
    explain.add_argument(
        "--top", type=int, default=10, help="nodes and columns to list (default 10)"
    )
    explain.add_argument(
        "--plot", metavar="FILE.png", help="draw the columns' shares (needs hld[plot])"
    )


def _add_batch(
    command: Parser,
    number: Any = None,
    table: str = "BATCH.csv",
    said: str = "rows with the columns of training",
) -> None:
    """What ``hld test`` and ``hld explain`` share."""
    command.add_argument("model", metavar="MODEL", help="model file")
    command.add_argument("table", metavar=table, help=said, nargs=number)
    _add_alpha(command)
    command.add_argument("--json", action="store_true", help=JSON)
    add_reading_options(command)


def _add_sample(commands: Any) -> None:
    """``hld sample``."""
    sample = _add(commands, "sample", drawing.sample, "draw rows from a model, as CSV")
    sample.add_argument("model", metavar="MODEL", help="model file")
    sample.add_argument(
        "-n", "--num-rows", type=int, required=True, metavar="N", help="rows to draw"
    )
    sample.add_argument(
        "--where",
        metavar="CONDITION",
        type=words,
        help="which all rows satisfy: ==, !=, <, <=, >, >=, in, and, or, not",
    )
    sample.add_argument(
        "-o",
        "--output",
        metavar="OUT.csv",
        default="-",
        help="file to write (default: standard output)",
    )
    sample.add_argument(
        "--report", metavar="FILE.html", help="also write a report on the quality of the rows"
    )
    sample.add_argument(
        "--real",
        metavar="REAL.csv",
        help="for --report: real rows that training did not use, to compare with",
    )
    sample.add_argument(
        "--training",
        metavar="TRAIN.csv",
        help="for --report: the training rows, to find drawn rows that are too close to one",
    )
    sample.add_argument("--seed", type=_seed, default=0, help="seed (default 0)")
    sample.add_argument(
        "--sep",
        type=separator,
        help=r"separates cells (default ',', of --real and --training what is "
        r"found there; '\t' is a tab)",
    )


def _add_monitor(commands: Any) -> None:
    """``hld monitor``."""
    monitor = _add(
        commands,
        "monitor",
        streaming.monitor,
        "watch rows on standard input: a JSON line for every n rows, and at the alarm",
        "exit status: 0 no alarm, 1 alarm, 2 error",
    )
    monitor.add_argument("model", metavar="MODEL", help="model file")
    monitor.add_argument(
        "--every",
        type=_positive,
        metavar="N",
        help="rows from one line to the next (default 100), or groups (default 1)",
    )
    monitor.add_argument(
        "--alarm-only",
        action="store_true",
        help="print only the line of the alarm and the last line",
    )
    monitor.add_argument("--stop", action="store_true", help="exit at the alarm")
    monitor.add_argument(
        "--reference",
        metavar="HELDOUT.csv",
        help="rows to compare with that the model did not learn from (default: its held-out rows, of "
        "which it keeps counts: docs/monitoring.md)",
    )
    monitor.add_argument(
        "--groups",
        metavar="COLUMN",
        type=words,
        help="with --reference: day or site of each row; successive rows of one group are a batch, "
        "which is compared with the groups of the reference, for models of groups",
    )
    monitor.add_argument(
        "--state",
        metavar="FILE",
        help="continue from this file if it exists; it is written before each line",
    )
    _add_alpha(monitor)
    add_reading_options(
        monitor, "that of --reference (default: by the extension of its name); the rows are CSV"
    )


def _add_serve(commands: Any) -> None:
    """``hld serve``."""
    serve = _add(
        commands,
        "serve",
        serving.serve,
        "serve models over HTTP, with a page in the browser",
        "stops at SIGTERM; SIGHUP reads the model files again (docs/how-to/serve.md)",
    )
    serve.add_argument("models", metavar="MODEL", nargs="+", help="model file, or NAME=FILE")
    serve.add_argument(
        "--host", default="127.0.0.1", help="address (default 127.0.0.1; others need a token)"
    )
    serve.add_argument(
        "--port", type=_seed, default=8000, help="port (default 8000; 0 takes a free one)"
    )
    serve.add_argument(
        "--token-file",
        metavar="FILE",
        help="file with the token that requests must carry (default: the variable HLD_TOKEN, if set)",
    )
    serve.add_argument(
        "--state",
        metavar="FOLDER",
        help="keep the state of the monitors there, so that it survives a crash",
    )
    serve.add_argument(
        "--watch",
        type=float,
        default=2.0,
        metavar="SECONDS",
        help="time between checks for new model files (default 2; 0: never)",
    )
    _add_alpha(serve)
    limits = serve.add_argument_group("limits")
    limits.add_argument(
        "--max-bytes", type=_positive, default=2**23, help="largest body (default 8388608)"
    )
    limits.add_argument(
        "--max-rows", type=_positive, default=100_000, help="longest table (default 100000)"
    )
    limits.add_argument(
        "--seconds", type=float, default=30.0, help="time limit of an answer (default 30)"
    )
    limits.add_argument(
        "--workers", type=_seed, default=0, help="threads (default: one for each processor)"
    )
    limits.add_argument(
        "--queue", type=_seed, default=64, help="requests that may wait for a thread (default 64)"
    )


def _add_diff(commands: Any) -> None:
    """``hld diff``."""
    diff = _add(commands, "diff", compare.diff, "compare two models, column by column")
    diff.add_argument("first", metavar="MODEL_A", help="model file")
    diff.add_argument("second", metavar="MODEL_B", help="model file")
    diff.add_argument("--json", action="store_true", help=JSON)


def _add_plan(commands: Any) -> None:
    """``hld plan``."""
    plan = _add(
        commands,
        "plan",
        planning.plan,
        "what a model will detect with so many rows a day, and when",
    )
    plan.add_argument("model", metavar="MODEL", help="model file")
    plan.add_argument(
        "--rows-per-day", type=_positive, required=True, metavar="N", help="rows per day"
    )
    plan.add_argument(
        "--edit",
        action="append",
        metavar="COLUMN=LEVEL:CHANGE",
        type=words,
        help="a change to ask about, such as sex=F:+0.05; may be repeated",
    )
    plan.add_argument(
        "--power", type=float, default=0.9, help="probability of detection (default 0.9)"
    )
    _add_alpha(plan)
    plan.add_argument("--json", action="store_true", help=JSON)


def _add_summarize(commands: Any) -> None:
    """``hld summarize``."""
    summarize = _add(
        commands,
        "summarize",
        summarizing.summarize,
        "write sums over a table that can be tested in its place",
    )
    summarize.add_argument("model", metavar="MODEL", help="model file")
    summarize.add_argument("table", metavar="BATCH.csv", help="rows with the columns of training")
    summarize.add_argument(
        "-o", "--output", metavar="FILE.json", required=True, help="file to write"
    )
    add_reading_options(summarize)


def _add_audit(commands: Any) -> None:
    """``hld audit``."""
    audit = _add(
        commands,
        "audit",
        auditing.audit,
        "measure level, power and drift on rows that a model has not seen",
        "exit status: 0 the level is kept, 1 it is not, 2 error",
    )
    _add_batch(audit, table="HELDOUT.csv", said="rows that the model has not seen")
    audit.add_argument(
        "--sizes",
        type=_sizes,
        default=[10, 50, 200],
        metavar="N,N",
        help="rows of a batch (default 10,50,200)",
    )
    audit.add_argument(
        "--num-batches",
        type=_positive,
        default=200,
        metavar="N",
        help="batches of each size and kind (default 200)",
    )
    audit.add_argument(
        "--edit",
        action="append",
        metavar="COLUMN=LEVEL:CHANGE",
        type=words,
        help="a shift to measure the power against, such as sex=F:+0.05; may be repeated",
    )
    audit.add_argument(
        "--groups",
        metavar="COLUMN",
        type=words,
        help="also test each of its groups as one batch; for models of groups the column of the fit, by "
        "default",
    )
    audit.add_argument("--report", metavar="FILE.html", help="also write a report, a page of HTML")
    audit.add_argument("--seed", type=_seed, default=0, help="seed of the batches (default 0)")


def _sizes(text: Any) -> list[Any]:
    """Whole numbers of at least 1, separated by commas."""
    return [_positive(part) for part in text.split(",")]


def _add_demo(commands: Any) -> None:
    """``hld demo``."""
    demo = _add(
        commands, "demo", drawing.demo, "show the method on handwritten digits (needs hld[demo])"
    )
    demo.add_argument("--json", action="store_true", help=JSON)
    demo.add_argument(
        "--output",
        metavar="FILE.png",
        default="hld-demo.png",
        help="picture (default hld-demo.png)",
    )
    demo.add_argument(
        "--digit",
        type=int,
        choices=range(10),
        default=2,
        metavar="0..9",
        help="digit to learn (default 2)",
    )
    demo.add_argument("--seed", type=_seed, default=0, help="seed (default 0)")


def _add_alpha(command: Parser) -> None:
    """``--alpha``."""
    command.add_argument(
        "--alpha", type=float, default=0.05, help="level of the test (default 0.05)"
    )


def _count(text: Any) -> int:
    """A whole number of at least 4."""
    if not text.isdecimal() or int(text) < 4:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 4, found {text!r}")
    return int(text)


def _seed(text: Any) -> int:
    """A whole number of at least 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 0, found {text!r}")
    return int(text)


def _positive(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, found {text!r}")
    return int(text)
