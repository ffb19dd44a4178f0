"""What is run: settings, cells, profiles and variants.

A *cell* is one trained circuit, (data set, ID class, architecture), with everything measured on it: its ID-OOD pairs
share it.  A *profile* is a list of cells with settings:

    quick      minutes: all tables come out, with fewer trials, epochs and pairs
    default    the tabular study, MNIST 7 x 7 with all 90 pairs, the two sweeps
    full       the same and MNIST 28 x 28

`VARIANTS` change one choice at a time that the paper leaves open.
"""

import json
from dataclasses import asdict, dataclass, field, replace

from . import datasets
from .datasets import Choices

IMAGE_CHOICES = Choices(pixel_threshold=64.0)
RUNS = 5  # splits and starts of each tabular circuit, all with `additions` but for the panel
SENSORLESS_RUNS = 10  # FPR_data of HLD at T = 1000 lies between .3 and 1 over them
STEP = {
    "em_batch_size": 512,
    "em_step_size": 0.1,
    "pseudocount_per": "step",
}  # as PyJuice and its tutorial do
RAT_RUNS = 5  # random structures
SWEEP = ("hclt-8", "hclt-16", "rat-2-4", "rat-2-8", "rat-3-4", "rat-3-8")
LIGHT = {  # what is done several times, or beside another study
    "trials": 200,
    "long_sizes": (),
    "pool_rows": 100_000,
    "null_trials": 1999,
    "mmd_trials": 100,
    "mmd_long_trials": 0,
    "mmd_null": ((200, 1999), (1000, 499)),
    "panel_trials": 0,
}
NODE_SETS = {
    "leaf": ("input",),
    "sum": ("sum",),
    "prod": ("product",),
    "leaf+sum": ("input", "sum"),
    "leaf+prod": ("input", "product"),
    "sum+prod": ("sum", "product"),
    "leaf+sum+prod": ("input", "sum", "product"),
}


@dataclass(frozen=True)
class Settings:
    """Everything that a result depends on, apart from its cell.

    Attributes
    ----------
    trials : int
        Monte Carlo trials of each (population, T).
    batch_sizes, long_sizes : tuple of int
        T; the long ones for the two false-positive rates only, as in the paper's alpha tables.
    alphas : tuple of float
    epochs : int
        EM passes.
    em_batch_size, em_step_size : int and float, or None
        Rows of a step of EM, and how far it goes; None for full batches.
    pseudocount_per : str
        "epoch", or "step": PyJuice adds the pseudocount to the flows of each mini-batch.
    pseudocount, tree_pseudocount : float
        Of EM, and of the Chow-Liu tree and the start values.
    model_seed, seed : int
        Of the circuit's structure and start values; of everything drawn afterwards.
    replacement : bool
        Whether the rows of a batch are drawn from their pool with replacement.
    pool_rows : int
        Rows drawn from the circuit: one half for reference batches, the other for the batches of FPR_model.
    null_trials : int
        Pairs of circuit batches behind the thresholds of RootLL, Typicality and TDI.
    mmd_trials, mmd_long_trials : int
        Trials of MMD, and at the long sizes; 0 leaves it out.
    mmd_null : tuple of (int, int)
        (largest T, pairs of circuit batches behind the threshold of MMD), T ascending: the cost of one grows with T^2.
    mmd_rows : str
        "one-hot", or "codes": category codes as numbers.
    dropout_rate : float
        Of TDI.
    node_sets : tuple of str
        Keys of NODE_SETS.
    additions : bool
        Whether spectra, the whitened norm and rows as reference are measured, too.
    panel_trials : int
        Trials of `hld.HLDDetector` with its defaults, learned from the training rows; half as many for OOD classes, 0
        leaves it out.
    choices : Choices
        About data.
    """

    trials: int = 500
    batch_sizes: tuple = (1, 10, 50, 100, 200, 500, 1000)
    long_sizes: tuple = ()
    alphas: tuple = (0.1, 0.05, 0.01)
    epochs: int = 100
    pseudocount: float = 0.1
    tree_pseudocount: float = 0.1
    model_seed: int = 0
    seed: int = 0
    replacement: bool = True
    pool_rows: int = 400_000
    null_trials: int = 9999
    mmd_trials: int = 500
    mmd_long_trials: int = 200
    mmd_null: tuple = ((200, 9999), (500, 4999), (1000, 1999), (2500, 499))
    mmd_rows: str = "one-hot"
    dropout_rate: float = 0.1
    em_batch_size: int | None = None
    em_step_size: float | None = None
    pseudocount_per: str = "epoch"
    node_sets: tuple = ("leaf+sum",)
    additions: bool = False
    panel_trials: int = 0
    choices: Choices = field(default_factory=Choices)

    def mmd_null_trials(self, T) -> int:
        """Pairs behind the threshold of MMD at T."""
        return next(pairs for largest, pairs in self.mmd_null if largest >= T)

    def to_dict(self) -> dict:
        """As JSON has it: tuples become lists."""
        return json.loads(json.dumps(asdict(self)))


@dataclass(frozen=True)
class Cell:
    """One circuit and its measurements: data set, ID class, architecture, settings; `group` is its folder.

    Cells that differ in `run` alone are repetitions with other splits and starts; the study takes their mean.
    """

    group: str
    dataset: str
    id_class: str
    architecture: str
    settings: Settings
    ood_classes: tuple
    run: int = 0

    @property
    def name(self) -> str:
        """File name without ending."""
        words = self.id_class.translate({ord("<"): "below", ord(">"): "over", ord("="): "or"})
        return f"{self.dataset}--{words}--{self.architecture}" + (
            f"--run-{self.run}" if self.run else ""
        )


def profile_cells(profile: str) -> list:
    """The cells of "quick", "default" or "full", the slow ones first."""
    quick = profile == "quick"
    base = (
        Settings(
            trials=100,
            epochs=30,
            pool_rows=40_000,
            null_trials=1999,
            mmd_trials=50,
            mmd_null=((1000, 199),),
            mmd_long_trials=0,
        )
        if quick
        else Settings()
    )
    tabular = replace(
        base,
        long_sizes=(1500, 2000, 2500),
        node_sets=tuple(NODE_SETS),
        additions=True,
        panel_trials=20 if quick else 100,
    )
    image = replace(base, choices=IMAGE_CHOICES)
    digits = ("0", "6", "7") if quick else datasets.ID_CLASSES["mnist7"]
    sweep = replace(
        base, batch_sizes=(10, 50, 100, 200), mmd_trials=0, node_sets=("leaf+sum", "leaf+sum+prod")
    )
    group = "quick" if quick else "study"
    cells = [
        _cell(group, name, id_class, "hclt-4", tabular)
        for name in ("census", "covertype", "connect4", "sensorless", "adult")
        for id_class in datasets.ID_CLASSES[name]
    ]
    light = {"panel_trials": 0} if quick else LIGHT
    smoothed = [
        replace(
            cell,
            group=f"{group}-step",
            settings=replace(cell.settings, additions=False, **light, **STEP),
        )
        for cell in (*cells, *(_cell(group, "mnist7", digit, "hclt-4", image) for digit in digits))
    ]
    cells += [
        repetition(cell, run)
        for cell in cells
        for run in range(1, 2 if quick else _runs(cell.dataset))
    ]
    cells += smoothed
    cells += [_cell(group, "mnist7", digit, "hclt-4", image) for digit in digits]
    cells += [
        _cell(group, "adult", id_class, architecture, sweep)
        for architecture in SWEEP
        for id_class in datasets.ID_CLASSES["adult"]
    ]
    cells += [
        repetition(cell, run)
        for cell in cells
        if cell.architecture.startswith("rat")
        for run in range(1, 2 if quick else RAT_RUNS)
    ]
    if profile == "full":
        large = replace(
            image, pool_rows=100_000, mmd_trials=200, mmd_null=((200, 4999), (1000, 499))
        )
        cells += [
            _cell(group, "mnist28", digit, "hclt-4", large)
            for digit in datasets.ID_CLASSES["mnist28"]
        ]
    return cells


def repetition(cell, run) -> Cell:
    """The cell with another split and another start of EM; MMD with fewer trials, since runs are averaged."""
    settings = replace(
        cell.settings,
        model_seed=run,
        mmd_long_trials=0,
        panel_trials=0,
        additions=run < RUNS and cell.settings.additions,
        choices=replace(cell.settings.choices, split_seed=run),
    )
    if settings.mmd_trials > 100:
        settings = replace(settings, mmd_trials=100, mmd_null=((200, 4999), (1000, 999)))
        if cell.dataset != "sensorless":
            settings = replace(settings, **LIGHT)
    return replace(cell, settings=settings, run=run)


def _runs(dataset) -> int:
    """Splits and starts of a circuit of the main tables."""
    return SENSORLESS_RUNS if dataset == "sensorless" else RUNS


def variant_cells() -> list:
    """Cells of all variants, without MMD but for its own variant."""
    cells = []
    for variant, (names, change) in VARIANTS.items():
        base = Settings(
            trials=200,
            batch_sizes=(10, 100, 1000),
            pool_rows=100_000,
            null_trials=1999,
            mmd_trials=0,
            node_sets=("leaf", "sum", "leaf+sum"),
        )
        settings = change(replace(base, choices=IMAGE_CHOICES) if names == ("mnist7",) else base)
        cells += [
            _cell(f"variants/{variant}", name, id_class, "hclt-4", settings)
            for name in names
            for id_class in datasets.ID_CLASSES[name]
        ]
    # one table is kept in memory; MMD is slow
    return sorted(cells, key=lambda cell: (cell.settings.mmd_trials > 0, cell.dataset, cell.group))


def _choice(**changes):
    return lambda base: replace(base, choices=replace(base.choices, **changes))


def _setting(**changes):
    return lambda base: replace(base, **changes)


SMALL = ("adult", "connect4", "sensorless")
NUMERIC = ("adult", "sensorless")
VARIANTS = {
    "default": (SMALL, _setting()),
    "bins-5": (NUMERIC, _choice(num_bins=5)),
    "bins-8": (NUMERIC, _choice(num_bins=8)),
    "bins-20": (NUMERIC, _choice(num_bins=20)),
    "bins-uniform": (NUMERIC, _choice(bin_rule="uniform")),
    "bins-from-train": (NUMERIC, _choice(bin_rows="train")),
    "split-1": (SMALL, _choice(split_seed=1)),
    "split-2": (SMALL, _choice(split_seed=2)),
    "start-1": (SMALL, _setting(model_seed=1)),
    "start-2": (SMALL, _setting(model_seed=2)),
    "pseudocount-0.001": (SMALL, _setting(pseudocount=0.001)),
    "pseudocount-1": (SMALL, _setting(pseudocount=1.0)),
    "pseudocount-10": (SMALL, _setting(pseudocount=10.0)),
    **{
        f"per-{per}-{size}": (
            SMALL,
            _setting(em_batch_size=size, em_step_size=0.1, pseudocount_per=per),
        )
        for size in (64, 128, 256, 512)
        for per in ("step", "epoch")
    },
    "tree-pseudocount-0": (SMALL, _setting(tree_pseudocount=0.0)),
    "tree-pseudocount-10": (SMALL, _setting(tree_pseudocount=10.0)),
    "epochs-20": (SMALL, _setting(epochs=20)),
    "epochs-400": (SMALL, _setting(epochs=400)),
    "no-replacement": (SMALL, _setting(replacement=False)),
    "dropout-0.5": (SMALL, _setting(dropout_rate=0.5)),
    "mmd-codes": (
        datasets.TABULAR,
        _setting(
            batch_sizes=(10, 50, 100, 500, 1000),
            mmd_rows="codes",
            mmd_trials=200,
            mmd_null=((1000, 999),),
        ),
    ),
    "mnist-default": (("mnist7",), _setting()),
    "mnist-threshold-half": (("mnist7",), _choice(pixel_threshold=127.5)),
    "mnist-threshold-96": (("mnist7",), _choice(pixel_threshold=96.0)),
    "mnist-threshold-32": (("mnist7",), _choice(pixel_threshold=32.0)),
    "mnist-threshold-1": (("mnist7",), _choice(pixel_threshold=1.0)),
}


def _cell(group, dataset, id_class, architecture, settings) -> Cell:
    """A cell with all OOD classes of the paper."""
    return Cell(group, dataset, id_class, architecture, settings, datasets.PAIRS[dataset][id_class])
