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

import os
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

import pcircuit
from hld import plots
from hld.apps.command.output import check_output, print_json, print_table, print_text, save_figure
from hld.testing.goodness_of_fit import HLDTest

SHAPE = (8, 8)
THRESHOLD = 8  # of 16 shades
NUM_LATENTS = 4
NUM_EPOCHS = 100
PSEUDOCOUNT = 1.0  # of 0.1, 1 and 3, the one that gives unseen images the largest likelihood
BATCH_SIZES = (10, 50)
ALPHA = 0.05
NUM_SHOWN = 12  # images of each kind in the picture


class Trial(NamedTuple):
    """One tested batch: its digit, what the test said, whether that was right, and the mean of its images (64,)."""

    digit: int
    result: Any
    right: bool
    mean: np.ndarray


@dataclass(frozen=True, eq=False)
class Demo:
    """All that the table and the picture show; shapes history (epochs + 1,), training (n, 64), drawn (12, 64)."""

    digit: int
    history: np.ndarray
    training: np.ndarray
    drawn: np.ndarray
    trials: tuple[Trial, ...]

    def to_dict(self) -> dict[str, Any]:
        """The table as plain values, ready for JSON."""
        return {
            "digit": self.digit,
            "num_train": len(self.training),
            "log_likelihood": float(self.history[-1]),
            "num_right": sum(trial.right for trial in self.trials),
            "num_tests": len(self.trials),
            "tests": [
                {"digit": trial.digit, "right": trial.right} | trial.result.to_dict()
                for trial in self.trials
            ],
        }


def run(digit: int = 2, seed: Any = 0, *, num_epochs: int = NUM_EPOCHS) -> Demo:
    """Learn one digit and test batches of all."""
    rng = np.random.default_rng(seed)
    images, digits = _digits()
    rows = rng.permutation(images[digits == digit])
    training, held_out = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    start = pcircuit.hclt(training, NUM_LATENTS, 2, PSEUDOCOUNT, rng)
    circuit, history = pcircuit.fit_em(
        start, training, num_epochs=num_epochs, pseudocount=PSEUDOCOUNT, progress=True
    )
    test, trials = HLDTest(circuit, num_train=len(training)), []
    for other in range(10):
        unseen = held_out if other == digit else images[digits == other]
        for T in BATCH_SIZES:
            batch = rng.choice(unseen, T, replace=False)
            result = test(batch, ALPHA)
            is_right = result.reject == (other != digit)
            trials.append(Trial(other, result, is_right, batch.mean(axis=0)))
    drawn = pcircuit.sample(circuit, NUM_SHOWN, rng=rng)
    return Demo(digit, history, training, drawn, tuple(trials))


def summary(demo: Demo) -> str:
    """How many of the tests were right, in words."""
    same = [trial.right for trial in demo.trials if trial.digit == demo.digit]
    others = [trial.right for trial in demo.trials if trial.digit != demo.digit]
    return (
        f"{sum(same) + sum(others)} of {len(demo.trials)} tests right: no shift in {sum(same)} of "
        f"{len(same)} batches of digit {demo.digit} itself (learned from {len(demo.training)} other images),"
        f"\nshift in {sum(others)} of {len(others)} batches of other digits. At level {ALPHA:g}, one "
        f"batch in {1 / ALPHA:.0f} without a shift raises a false alarm."
    )


def draw(demo: Demo, path: Any) -> None:
    """Draw learning, images, and the large batch of another digit that is nearest to this one into a picture file."""
    large = [one for one in demo.trials if one.result.num_samples == max(BATCH_SIZES)]
    others = [one for one in large if one.digit != demo.digit]
    shown = min(others, key=lambda one: one.result.statistic)
    figure = plots.new_figure((11, 6.2))
    (curve, real, drawn), (learned, tested, place) = figure.subplots(2, 3)
    curve.plot(demo.history)
    curve.set(xlabel="epoch", ylabel="log-likelihood (nats per row)")
    plots.images([demo.training.mean(axis=0)], SHAPE, learned)
    plots.images([shown.mean], SHAPE, tested)
    plots.localisation_map(shown.result.localize(top=1), SHAPE, place)
    plots.images(demo.training[:NUM_SHOWN], SHAPE, real, num_columns=4)
    plots.images(demo.drawn, SHAPE, drawn, num_columns=4)
    for ax, title in (
        (curve, f"Learning digit {demo.digit} ({len(demo.training)} images)"),
        (learned, f"Mean of the {demo.digit}s learned"),
        (tested, f"Mean of {shown.result.num_samples} {shown.digit}s tested"),
        (place, f"Where they differ, p = {shown.result.pvalue:.0e}"),
        (real, f"Images of digit {demo.digit}"),
        (drawn, "Images drawn from the circuit"),
    ):
        ax.set_title(title, loc="left", fontsize=11)
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


def demo(args: Any) -> int:
    """Train on one handwritten digit, test batches of all, draw a picture."""
    check_output(args.output)
    # unless the user has chosen: for 90 rows, compiling would take longest
    os.environ.setdefault("PCIRCUIT_ENGINE", "numpy")
    shown = run(args.digit, args.seed)
    draw(shown, args.output)
    if args.json:
        print_json(shown.to_dict() | {"picture": args.output})
        return 0
    rows = []
    for digit, one, right, _ in shown.trials:
        verdict = ("shift" if one.reject else "no shift") + "  (wrong)" * (not right)
        rows.append((digit, one.num_samples, one.statistic, one.threshold, one.pvalue, verdict))
    print_table(("digit", "T", "distance", "threshold", "p-value", "verdict"), rows)
    print_text(f"{summary(shown)}\npicture in {args.output}")
    return 0
