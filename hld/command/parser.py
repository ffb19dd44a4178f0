"""The command line ``hld``: learn a table, then ask of later batches whether they still follow it.

    hld fit TRAIN.csv -o MODEL        learn the distribution of a table, write one model file
    hld test MODEL BATCH.csv          does the batch follow it?    status 0: no shift found, 1: shift found
    hld explain MODEL BATCH.csv       ... and which columns carry the shift
    hld info MODEL                    what the model file holds
    hld sample MODEL -n 10            rows drawn from the learned distribution
    hld demo                          the method on handwritten digits, in a table and a picture

The commands read, call `hld.HLDDetector` and print; everything else is in the library.  Scripts get one JSON
object on standard output (`--json`) and the exit status.  As 1 means "shift found", a failure of any kind
ends with 2 and one line on standard error, never with 1: a crash must not be mistaken for a shift.  An
interrupted command ends with 130, one whose reader closed the pipe with 141, as the shell has it.

Nothing is imported before it is needed, so that ``hld --help`` answers at once.
"""
from __future__ import annotations

import argparse
import contextlib
import os
import sys

from hld.command.reading import add_reading_options, names, separator

SHIFT, ERROR, INTERRUPTED, PIPE_CLOSED = 1, 2, 130, 141
EXPECTED = (ValueError, TypeError, OSError, ImportError)  # what the library raises for a user's mistake
ENGINE = "PCIRCUIT_ENGINE"  # environment variable
STATUS = "exit status: 0 no shift found, 1 shift found, 2 error"


def main(argv=None) -> int:
    r"""Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; by default those of the process.

    Returns
    -------
    int
        Exit status: 0 done, or no shift found; 1 shift found; 2 error; 130 interrupted; 141 pipe closed.

    Raises
    ------
    SystemExit
        With status 2 for arguments that cannot be parsed, with 0 after ``--help`` and ``--version``.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table, model = os.path.join(folder, "coins.csv"), os.path.join(folder, "coins.hld")
    ...     with open(table, "w") as file:
    ...         print("coin", *["head", "tail"] * 20, sep="\n", file=file)
    ...     fitted = main(["fit", table, "-o", model])
    ...     tested = main(["test", model, table])                   # doctest: +ELLIPSIS
    fitted 40 rows of 1 column: ...
    no shift: ...
    >>> fitted, tested
    (0, 0)
    """
    args = _parser().parse_args(argv)
    try:
        status = args.run(args)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        _complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # Python flushes standard output once more when it ends, which must not fail again.
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except Exception as error:
        if args.debug and sys.stderr is not None:
            import traceback

            from hld.command.output import shown
            print(*map(shown, traceback.format_exc().split("\n")), sep="\n", file=sys.stderr)
        _complain(_one_line(error))
        return ERROR


def _fit(args) -> int:
    """Learn a table and write the model file."""
    from hld.command.csv_files import read_training
    from hld.command.output import check_output, print_text
    from hld.command.reading import reading_options
    from hld.detector import HLDDetector
    target = check_output(args.output)
    if target.exists() and args.table != "-" and os.path.samefile(target, args.table):
        raise ValueError(f"{args.output!r} is the training table: give the model file another name")
    detector = HLDDetector(num_latents=args.num_latents, num_epochs=args.num_epochs, num_bins=args.num_bins,
                           categorical=args.categorical, continuous=args.continuous, rng=args.seed)
    table, num_rows = read_training(args.table, reading_options(args), max_rows=args.max_rows, seed=args.seed)
    detector.fit(table, progress=True)
    detector.save(target)
    count = detector.n_features_in_
    sampled = f" (a sample of {num_rows})" if num_rows > detector.num_train_ else ""
    print_text(f"fitted {detector.num_train_} rows{sampled} of {count} column{'s' * (count != 1)}: mean "
               f"log-likelihood {detector.history_[-1]:.4f} nats per row, model in {args.output}")
    return 0


def _test(args) -> int:
    """Test a batch: the verdict."""
    from hld.command.csv_files import judge_file
    from hld.command.output import print_json, print_text
    from hld.command.reading import reading_options
    from hld.detector import load
    result = judge_file(load(args.model), args.table, args.alpha, reading_options(args))
    if args.json:
        print_json(result.to_dict())
    else:
        print_text(str(result))
    return SHIFT if result.reject else 0


def _explain(args) -> int:
    """Test a batch: the verdict, and the nodes and columns that carry the shift."""
    from hld.command.explain import draw_shares, explanation, print_explanation
    from hld.command.output import check_output, print_json
    if args.plot is not None:
        check_output(args.plot)
    detector, table, result = _tested(args)
    found = explanation(detector, table, result, args.top)
    if args.plot is not None:
        draw_shares(detector, result, args.top, args.plot)
    if args.json:
        print_json(found)
    else:
        print_explanation(result, found)
    return SHIFT if result.reject else 0


def _info(args) -> int:
    """Print what a model file holds."""
    from hld.command.output import print_json, print_text
    from hld.detector import load
    detector = load(args.model)
    if not args.json:
        print_text(detector.describe())
        return 0
    columns, circuit, test = detector.encoder_.columns, detector.circuit_, detector.test_
    print_json({"num_train": detector.num_train_, "log_likelihood": detector.history_[-1],
                "columns": [{"name": column.name, "kind": column.kind,
                             "num_categories": column.num_categories} for column in columns],
                "circuit": {"num_variables": circuit.num_variables, "num_units": circuit.num_nodes},
                "test": {"num_nodes": len(test.nodes), "null": test.null, "reference": test.reference,
                         "num_train": test.num_train},
                "params": detector.get_params()})
    return 0


def _sample(args) -> int:
    """Write rows drawn from a model as CSV."""
    from hld.command.csv_files import write_rows
    from hld.command.output import check_output
    from hld.detector import load
    output = None if args.output == "-" else args.output
    if output is not None:
        check_output(output)
    detector = load(args.model)
    write_rows(detector.encoder_.names, detector.sample(args.num_rows, rng=args.seed), output, args.sep)
    return 0


def _demo(args) -> int:
    """Train on one handwritten digit, test batches of all, draw a picture."""
    from hld.command.demo import draw, run, summary
    from hld.command.output import check_output, print_json, print_table, print_text
    check_output(args.output)
    with _plain_engine():
        demo = run(args.digit, args.seed, progress=True)
    draw(demo, args.output)
    if args.json:
        print_json(demo.to_dict() | {"picture": args.output})
        return 0
    print_table(("digit", "T", "statistic", "threshold", "p-value", "verdict"),
                [(digit, result.num_samples, result.statistic, result.threshold, result.pvalue,
                  ("shift" if result.reject else "no shift") + ("" if right else "  (wrong)"))
                 for digit, result, right in demo.trials])
    print_text(f"{summary(demo)}\npicture in {args.output}")
    return 0


def _tested(args):
    """The detector of a model file, the batch as a data frame, and the test's result."""
    from hld.command.csv_files import read_batch
    from hld.command.reading import reading_options
    from hld.detector import load
    detector = load(args.model)
    table = read_batch(args.table, detector.encoder_, reading_options(args))
    return detector, table, detector.test(table, args.alpha)


@contextlib.contextmanager
def _plain_engine():
    """NumPy instead of Numba, unless the user has chosen: for 90 rows, compiling would take longest."""
    if ENGINE in os.environ:
        yield
        return
    os.environ[ENGINE] = "numpy"
    try:
        yield
    finally:
        del os.environ[ENGINE]


def _complain(message):
    """One line on standard error, if there is one."""
    from hld.command.output import shown
    if sys.stderr is not None:
        print(f"hld: {shown(message)}", file=sys.stderr)


def _one_line(error) -> str:
    """What went wrong, in one line."""
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        text = f"{error.strerror}: {str(error.filename)!r}"
    if isinstance(error, EXPECTED) and text:
        return f"error: {text}"
    return f"unexpected error: {type(error).__name__}: {text} (--debug shows where)"


def _parser():
    """The commands and their options."""
    parser = _Parser(
        prog="hld", description="Does a batch of data still follow the distribution that a model learned?",
        epilog=f"{STATUS}. Tables are CSV, Parquet or JSON lines; '-' reads standard input; "
               "empty cells are missing.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and leave")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_fit(commands)
    test = _add(commands, "test", _test, "test whether a batch follows a model", STATUS)
    explain = _add(commands, "explain", _explain, "test a batch and name the columns that carry the shift",
                   STATUS)
    for command in (test, explain):
        command.add_argument("model", metavar="MODEL", help="model file")
        command.add_argument("table", metavar="BATCH.csv", help="rows with the columns of training")
        command.add_argument("--alpha", type=float, default=0.05, help="level of the test (default 0.05)")
        command.add_argument("--json", action="store_true", help="print one JSON object")
        add_reading_options(command)
    explain.add_argument("--top", type=int, default=10, help="nodes and columns to list (default 10)")
    explain.add_argument("--plot", metavar="FILE.png", help="draw the columns' shares (needs hld[plot])")
    info = _add(commands, "info", _info, "describe a model file")
    info.add_argument("model", metavar="MODEL", help="model file")
    info.add_argument("--json", action="store_true", help="print one JSON object")
    _add_sample(commands)
    demo = _add(commands, "demo", _demo, "the method on handwritten digits (needs hld[demo])")
    demo.add_argument("--json", action="store_true", help="print one JSON object")
    demo.add_argument("--output", metavar="FILE.png", default="hld-demo.png",
                      help="picture (default hld-demo.png)")
    demo.add_argument("--digit", type=int, choices=range(10), default=2, metavar="0..9",
                      help="to learn (default 2)")
    demo.add_argument("--seed", type=_seed, default=0, help="default 0")
    return parser


def _add(commands, name, run, text, epilog=None):
    """A command."""
    command = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.", epilog=epilog)
    # Without a default here, a --debug before the command would be reset.
    command.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    command.set_defaults(run=run)
    return command


def _add_fit(commands):
    """``hld fit``."""
    fit = _add(commands, "fit", _fit, "learn the distribution of a table")
    fit.add_argument("table", metavar="TRAIN.csv", help="training rows, with a header")
    fit.add_argument("-o", "--output", metavar="MODEL", required=True, help="model file to write")
    fit.add_argument("--num-latents", type=int, default=4, help="states of each hidden variable (default 4)")
    fit.add_argument("--num-epochs", type=int, default=100, help="EM passes over the rows (default 100)")
    fit.add_argument("--num-bins", type=int, default=8,
                     help="quantile bins of a continuous column (default 8)")
    fit.add_argument("--max-rows", type=_count, default=200_000, metavar="N",
                     help="learn from a uniform sample of so many rows of longer tables (default 200000)")
    fit.add_argument("--categorical", metavar="A,B", type=names, help="columns to treat as categorical")
    fit.add_argument("--continuous", metavar="C,D", type=names, help="columns to treat as continuous")
    fit.add_argument("--seed", type=_seed, default=0, help="of start values (default 0)")
    add_reading_options(fit)


def _add_sample(commands):
    """``hld sample``."""
    sample = _add(commands, "sample", _sample, "draw rows from a model, as CSV")
    sample.add_argument("model", metavar="MODEL", help="model file")
    sample.add_argument("-n", "--num-rows", type=int, required=True, metavar="N", help="rows to draw")
    sample.add_argument("-o", "--output", metavar="OUT.csv", default="-", help="default standard output")
    sample.add_argument("--seed", type=_seed, default=0, help="default 0")
    _add_separator(sample)


def _add_separator(command):
    """``--sep``."""
    command.add_argument("--sep", type=separator, default=",",
                         help=r"separates cells (default ','; '\t' is a tab)")


class _Parser(argparse.ArgumentParser):
    """Escapes what it quotes of the arguments, such as the names of files."""

    def error(self, message):
        from hld.command.output import shown
        super().error(shown(message))


class _Version(argparse.Action):
    """Prints the version, which is only imported when asked for."""

    def __call__(self, parser, namespace, values, option_string=None):
        import pcircuit
        print(f"hld {pcircuit.__version__}")
        parser.exit()


def _count(text) -> int:
    """A whole number of at least 4."""
    if not text.isdecimal() or int(text) < 4:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 4, found {text!r}")
    return int(text)


def _seed(text) -> int:
    """A whole number of at least 0."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 0, found {text!r}")
    return int(text)
