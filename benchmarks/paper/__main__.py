"""Run the paper's experiments, and report them beside the paper's numbers.

    python -m benchmarks.paper                tabular study, MNIST 7 x 7 (all 90 pairs), sweeps
    python -m benchmarks.paper --quick        minutes: everything with fewer trials, epochs and pairs
    python -m benchmarks.paper --full         and MNIST 28 x 28
    python -m benchmarks.paper variants       one open choice changed at a time
    python -m benchmarks.paper report         results to Markdown tables and figures, under results/study-report
    python -m benchmarks.paper report --quick

Data come from the folder named by HLD_DATA, else they are downloaded.  Interrupt at any time: finished cells are kept,
and the next call continues where this one stopped.  Cells run in as many processes as there are CPUs, one thread each.
"""

import argparse
import os
import sys

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def main(argv=None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", nargs="?", choices=("run", "variants", "report"), default="run")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="fewer trials, epochs and pairs")
    size.add_argument("--full", action="store_true", help="MNIST 28 x 28 too")
    parser.add_argument(
        "--only", metavar="TEXT", default="", help="only cells with this text in group/name"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="processes (default: CPUs)"
    )
    parser.add_argument(
        "--results", metavar="FOLDER", default=None, help="default: benchmarks/results"
    )
    args = parser.parse_args(argv)
    for name in THREADS:  # set before NumPy is loaded, here and in the processes that inherit it
        os.environ.setdefault(name, "1")
    from . import runner, settings

    if args.command == "report":
        from .report import write_report

        print(write_report("quick" if args.quick else "study", args.results))
        return 0
    profile = "quick" if args.quick else "full" if args.full else "default"
    cells = (
        settings.variant_cells() if args.command == "variants" else settings.profile_cells(profile)
    )
    cells = [cell for cell in cells if args.only in f"{cell.group}/{cell.name}"]
    return runner.run_cells(cells, args.jobs, args.results)


if __name__ == "__main__":
    sys.exit(main())
