"""The paper's figures: training curve, real against sampled digits, localisation maps.

The first is drawn from stored results.  The other two fit the circuits of the digits 0, 6 and 7 at 28 x 28 anew, as the
study does: pictures need rows, which results do not hold.

*Localization.* The paper's text speaks of circuits of 0, 7 and 6 and batches of 6, 8 and 9, and names two pairs, 0-8
and 0-6; the source does not hold its four panels.  Drawn are these two, 7-9 and 6-8: mean image of the ID class, mean
image of the OOD class, share of each pixel in the squared statistic (`hld.witnesses.localization`), and how many of
the TOP nodes with the largest contribution have the pixel in their scope, nodes of more than LARGEST_SCOPE pixels left
out: they hold most of the image.
"""

from functools import cache

import numpy as np

import hld
import pcircuit
from hld.answers.plots import new_figure

from . import datasets
from . import paper_values as paper
from .models import fit_cell
from .settings import IMAGE_CHOICES, Settings

LOCALISED = (("0", "8"), ("0", "6"), ("7", "9"), ("6", "8"))
SHOWN_DIGITS = tuple("067")
BATCH, TOP, LARGEST_SCOPE = 100, 100, 64


def draw_all(results, folder) -> None:
    """All figures for the data that results are there for."""
    training_curve(results, folder / "training.png")
    if any(result["dataset"] in datasets.IMAGES for result in results):
        samples(folder / "samples.png")
        localisation(folder / "localisation.png")


def overview(findings, path) -> None:
    """The paper beside ours: false alarms of HLD and of a scalar score on held-out rows, and detection, against T."""
    figure = new_figure((9, 3.2))
    sizes = (1, 10, 50, 100, 200, 500, 1000)
    panels = (
        ("data", "HLD", "false alarms of HLD", ("HLD exact, 1+T/n", "panel")),
        ("data", "Typicality", "false alarms of Typicality", ()),
        ("ood", "HLD", "detection", ("whitened, held-out half", "panel")),
    )
    for ax, (kind, method, title, others) in zip(figure.subplots(1, 3), panels, strict=True):
        printed = [paper.MAIN["tabular"][kind][T][method][0] for T in sizes]
        ours = [findings.mean("tabular", kind, method, T) for T in sizes]
        ax.plot(sizes, printed, "k--", label=f"{method}, paper")
        ax.plot(sizes, [mean.mean for mean in ours], "C0", label=f"{method}, ours")
        ranges = np.array([mean.range for mean in ours]).T
        ax.fill_between(
            sizes, *ranges, color="C0", alpha=0.2, linewidth=0, label="splits and starts"
        )
        for number, name in enumerate(others, 1):
            found = [(T, findings.mean("tabular", kind, name, T)) for T in sizes]
            points = [(T, mean.mean) for T, mean in found if mean is not None]
            ax.plot(*zip(*points, strict=True), f"C{number}", label=name)
        step = [findings.smoothed.value("tabular", kind, method, T) for T in sizes]
        ax.plot(sizes, step, "C3:", label=f"{method}, smoothed per step")
        ax.set(xscale="log", xlabel="T", title=title, ylim=(0, 1.02))
        ax.legend(frameon=False, fontsize="x-small")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=110)


def training_curve(results, path) -> None:
    """Mean training log-likelihood by epoch, 0 at the start and 1 at the end, one line for each circuit."""
    figure = new_figure((6, 3.4))
    ax = figure.add_subplot()
    for dataset in sorted({result["dataset"] for result in results}):
        color = f"C{(datasets.TABULAR + datasets.IMAGES).index(dataset)}"
        for number, result in enumerate(r for r in results if r["dataset"] == dataset):
            history = np.array(result["history"])
            ax.plot(
                (history - history[0]) / (history[-1] - history[0]),
                color=color,
                linewidth=1,
                label=dataset if number == 0 else None,
            )
    ax.set(xlabel="EM epoch", ylabel="share of the gain in log-likelihood", ylim=(0.5, 1.02))
    ax.legend(frameon=False, fontsize="small")
    figure.savefig(path, dpi=110)


def samples(path) -> None:
    """Real digits above samples of the circuits fitted to them."""
    figure = new_figure((7.5, 3.6))
    axes = figure.subplots(2, len(SHOWN_DIGITS))
    for column, digit in enumerate(SHOWN_DIGITS):
        split, circuit = _digit(digit)
        drawn = pcircuit.sample(circuit, 4, rng=0)
        for ax, rows in zip(axes[:, column], (split.train[:4], drawn), strict=True):
            tiles = rows.reshape(2, 2, 28, 28).transpose(0, 2, 1, 3).reshape(56, 56)
            _picture(ax, tiles, "gray_r")
    axes[0, 0].set_ylabel("real")
    axes[1, 0].set_ylabel("sampled")
    figure.savefig(path, dpi=110)


def localisation(path) -> None:
    """Where batches of another digit differ."""
    figure = new_figure((7.5, 7))
    axes = figure.subplots(len(LOCALISED), 4)
    for row, (id_class, ood) in enumerate(LOCALISED):
        split, circuit = _digit(id_class)
        result = hld.HLDTest(circuit, null="normal")(split.ood[ood][:BATCH].astype(np.int64))
        found = result.localize(top=None)
        counts = np.zeros(circuit.num_variables)
        for node in [node for node in found.nodes if len(node.scope) <= LARGEST_SCOPE][:TOP]:
            counts[list(node.scope)] += 1
        pictures = (
            split.train.mean(axis=0),
            split.ood[ood].mean(axis=0),
            found.variable_scores,
            counts,
        )
        titles = (f"ID {id_class}", f"OOD {ood}", "share of d²", f"scopes of the top {TOP}")
        for column, (values, title) in enumerate(zip(pictures, titles, strict=True)):
            _picture(
                axes[row, column], values.reshape(28, 28), "gray_r" if column < 2 else "cividis"
            )
            axes[row, column].set_title(title, fontsize="small")
    figure.savefig(path, dpi=110)


@cache
def _digit(digit):
    """Split and fitted circuit of an ID digit at 28 x 28, those of the study."""
    settings = Settings(choices=IMAGE_CHOICES)
    split = datasets.split_class(
        _images(), digit, datasets.PAIRS["mnist28"][digit], settings.choices
    )
    return split, fit_cell("hclt-4", split.train, split.num_categories, settings)[0]


@cache
def _images():
    """The 28 x 28 images, read once."""
    return datasets.load_table("mnist28")


def _picture(ax, values, colors) -> None:
    """An image without ticks."""
    ax.imshow(values, cmap=colors)
    ax.set(xticks=[], yticks=[])
