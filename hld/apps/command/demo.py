"""The method on handwritten digits: learn one of them, then test batches of all ten against it.

The data are the 1797 images of 8 x 8 pixels that come with scikit-learn; pixels are set to 1 where the ink is
at least 8 of 16.  A Hidden Chow-Liu tree learns half of the images of one digit.  Then batches of T images,
drawn without replacement from images that it has not seen, are tested: of the same digit, where "no shift" is
right, and of the nine others, where "shift" is right.

Some 90 images for 64 pixels are few, so the learned distribution itself is uncertain; the test is told the
number n of training images and widens its null distribution by 1 + T/n.  Over all ten digits and the seeds 0
to 3 all 720 batches of other digits are found, and 5 of the 80 batches of the digit itself raise a false
alarm, at a level of 5 %.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import pcircuit
from hld import plots
from hld.apps.command.output import check_output, print_json, print_table, print_text, save_figure
from hld.testing.goodness_of_fit import HLDTest

ENGINE = "PCIRCUIT_ENGINE"  # environment variable
SHAPE = (8, 8)
THRESHOLD = 8  # of 16 shades
NUM_LATENTS = 4
NUM_EPOCHS = 100
PSEUDOCOUNT = (
    1.0  # of 0.1, 1 and 3, the one that gives unseen images of the digit the largest likelihood
)
BATCH_SIZES = (10, 50)
ALPHA = 0.05
NUM_SHOWN = 12  # images in a row of the picture


class Trial(NamedTuple):
    """One tested batch: its digit, what the test said, and whether that was right."""

    digit: int
    result: Any
    right: bool


@dataclass(frozen=True, eq=False)
class Demo:
    """All that the table and the picture show; shapes history (epochs + 1,), mean (64,), shifted_mean (64,)."""

    digit: int
    num_train: int
    history: np.ndarray
    trials: tuple[Any, ...]
    real: np.ndarray
    drawn: np.ndarray
    mean: np.ndarray
    shifted: Trial
    shifted_mean: np.ndarray

    def to_dict(self) -> dict[str, Any]:
        """The table as plain values, ready for JSON."""
        return {
            "digit": self.digit,
            "num_train": self.num_train,
            "log_likelihood": float(self.history[-1]),
            "num_right": sum(trial.right for trial in self.trials),
            "num_tests": len(self.trials),
            "tests": [
                {"digit": trial.digit, "right": trial.right} | trial.result.to_dict()
                for trial in self.trials
            ],
        }


def run(
    digit: Any = 2, seed: Any = 0, *, num_epochs: Any = NUM_EPOCHS, progress: bool = False
) -> Demo:
    """Learn one digit and test batches of all."""
    rng = np.random.default_rng(seed)
    images, digits = _digits()
    rows = rng.permutation(images[digits == digit])
    training, held_out = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    start = pcircuit.hclt(training, NUM_LATENTS, 2, PSEUDOCOUNT, rng)
    circuit, history = pcircuit.fit_em(
        start, training, num_epochs=num_epochs, pseudocount=PSEUDOCOUNT, progress=progress
    )
    test = HLDTest(circuit, num_train=len(training))
    trials, batches = [], []
    for other in range(10):
        unseen = held_out if other == digit else images[digits == other]
        for T in BATCH_SIZES:
            batches.append(rng.choice(unseen, T, replace=False))
            result = test(batches[-1], ALPHA)
            trials.append(Trial(other, result, result.reject == (other != digit)))
    shown = _hardest_found(trials, digit)
    return Demo(
        digit,
        len(training),
        history,
        tuple(trials),
        training[:NUM_SHOWN],
        pcircuit.sample(circuit, NUM_SHOWN, rng=rng),
        training.mean(axis=0),
        trials[shown],
        batches[shown].mean(axis=0),
    )


def summary(demo: Any) -> str:
    """How many of the tests were right, in words."""
    same = [trial for trial in demo.trials if trial.digit == demo.digit]
    others = [trial for trial in demo.trials if trial.digit != demo.digit]
    right_same, right_others = (sum(trial.right for trial in part) for part in (same, others))
    return (
        f"{right_same + right_others} of {len(demo.trials)} tests right: no shift in {right_same} of "
        f"{len(same)} batches of digit {demo.digit} itself (learned from {demo.num_train} other images),"
        f"\nshift in {right_others} of {len(others)} batches of other digits. At level {ALPHA:g}, one "
        f"batch in {1 / ALPHA:.0f} without a shift raises a false alarm."
    )


def draw(demo: Any, path: Any) -> None:
    """Draw the learning, shift and images into a picture file."""
    result, other = demo.shifted.result, demo.shifted.digit
    figure = plots.new_figure((11, 6.2))
    upper, lower = figure.subfigures(2, 1, height_ratios=(1.1, 1), hspace=0.02)
    curve, learned, tested, place = upper.subplots(1, 4, width_ratios=(1.4, 1.1, 1.1, 1.15))
    curve.plot(demo.history)
    curve.set(xlabel="epoch", ylabel="log-likelihood (nats per row)")
    plots.images([demo.mean], SHAPE, learned)
    plots.images([demo.shifted_mean], SHAPE, tested)
    plots.localisation_map(result.localize(top=1), SHAPE, place)
    real, drawn = lower.subplots(2, 1)
    plots.images(demo.real, SHAPE, real, num_columns=NUM_SHOWN)
    plots.images(demo.drawn, SHAPE, drawn, num_columns=NUM_SHOWN)
    for ax, title in (
        (curve, f"Learning digit {demo.digit} ({demo.num_train} images)"),
        (learned, f"Mean of the {demo.digit}s learned"),
        (tested, f"Mean of {result.num_samples} {other}s tested"),
        (place, f"Where they differ, p = {result.pvalue:.0e}"),
        (real, f"Images of digit {demo.digit}"),
        (drawn, "Images drawn from the circuit"),
    ):
        ax.set_title(title, loc="left", fontsize=11)
        ax.set_anchor("NW")
    save_figure(figure, path, dpi=130)


def _digits() -> Any:
    """Images (N, 64) of zeros and ones, and the digit (N,) of each."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise ImportError(
            "the demo needs scikit-learn, which is not installed: pip install 'hld[demo]'"
        ) from None
    data = load_digits()
    return (data.data >= THRESHOLD).astype(np.int8), data.target


def _hardest_found(trials: Any, digit: Any) -> int:
    """Position of the largest batch of another digit that was found with the least margin."""

    def margin(i: Any) -> Any:
        trial = trials[i]
        return (
            not trial.right,
            -trial.result.num_samples,
            trial.result.statistic / trial.result.threshold,
        )

    return min((i for i, trial in enumerate(trials) if trial.digit != digit), key=margin)


def demo(args: Any) -> int:
    """Train on one handwritten digit, test batches of all, draw a picture."""
    check_output(args.output)
    with _plain_engine():
        shown = run(args.digit, args.seed, progress=True)
    draw(shown, args.output)
    if args.json:
        print_json(shown.to_dict() | {"picture": args.output})
        return 0
    print_table(
        ("digit", "T", "distance", "threshold", "p-value", "verdict"),
        [
            (
                digit,
                result.num_samples,
                result.statistic,
                result.threshold,
                result.pvalue,
                ("shift" if result.reject else "no shift") + ("" if right else "  (wrong)"),
            )
            for digit, result, right in shown.trials
        ],
    )
    print_text(f"{summary(shown)}\npicture in {args.output}")
    return 0


@contextlib.contextmanager
def _plain_engine() -> Iterator[Any]:
    """NumPy instead of Numba, unless the user has chosen: for 90 rows, compiling would take longest."""
    if ENGINE in os.environ:
        yield
        return
    os.environ[ENGINE] = "numpy"
    try:
        yield
    finally:
        del os.environ[ENGINE]
