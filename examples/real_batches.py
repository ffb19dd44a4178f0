"""What batches of a real table are asked, eight questions about people and soils.

Adult and Covertype (UCI machine learning repository) are read from the folder that the environment variable HLD_DATA
names: ``adult/adult.data.gz`` and ``covertype/covertype.npz``.  Without it the script says so and ends.
"""

import os
import pathlib

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

import hld

NAMES = (
    "age",
    "workclass",
    "weight",
    "education",
    "years",
    "marital",
    "occupation",
    "relationship",
    "race",
    "sex",
    "gain",
    "loss",
    "hours",
    "country",
    "income",
)
QUICK = {"num_epochs": 10, "num_resamples": 199}


def main(folder: pathlib.Path) -> None:
    """Ask everything."""
    adult = pd.read_csv(folder / "adult" / "adult.data.gz", names=NAMES, skipinitialspace=True)
    adult = adult.drop(columns="weight").sample(frac=1, random_state=0, ignore_index=True)
    detector = hld.HLDDetector(**QUICK).fit(adult[:6000])
    natural_variation(folder)
    serial_dependence()
    stream(detector, adult)
    moved_covariates(adult)
    plan_and_audit(detector, adult)
    sums_and_pairs_of_batches(detector, adult)
    size_of_a_shift(detector, adult)


def natural_variation(folder: pathlib.Path) -> None:
    """Soils differ by nature: is a new one like those before?"""
    with np.load(folder / "covertype" / "covertype.npz", allow_pickle=False) as arrays:
        table, soil = arrays["X"][:, :10].astype(float), arrays["X"][:, 14:].argmax(axis=1)
    frequent = [one for one in range(40) if (soil == one).sum() >= 1000]
    known, new = frequent[1:], frequent[0]
    rows = np.concatenate([np.flatnonzero(soil == one)[:300] for one in known])
    detector = hld.HLDDetector(**QUICK).fit(table[rows], groups=soil[rows])
    batch = table[np.flatnonzero(soil == new)[:300]]
    alone = detector.test_(detector.encoder_.encode(batch)[0])
    print(
        f"a new soil: p = {detector.test(batch).pvalue:.2g} among {len(known)} soils, {alone.pvalue:.2g} as "
        "independent rows"
    )


def serial_dependence() -> None:
    """Digits stand in the order in which people wrote them: successive ones have one hand."""
    images, _ = load_digits(return_X_y=True)
    pixels = (images[:, 18:46] > 7).astype(int)
    detector = hld.HLDDetector(num_latents=2, num_epochs=5, null="exact").fit(
        pixels[:1600], order="time"
    )
    last = pixels[1650:1750]
    alone = detector.test_(detector.encoder_.encode(last)[0])
    found = detector.test(last)
    print(
        f"later digits: p = {found.pvalue:.2g} among stretches of time, worth {found.context.effective_rows:.0f} "
        f"independent rows; {alone.pvalue:.2g} as independent rows"
    )


def stream(detector: hld.HLDDetector, adult: pd.DataFrame) -> None:
    """Rows come one by one: an alarm that may be asked for at any moment."""
    monitor = hld.Monitor(detector, reference=adult[6000:8000])
    calm = monitor.update(adult[8000:11_000]).alarm
    rich = adult[11_000:][adult["income"][11_000:] == ">50K"]
    print(
        f"a stream: alarm {calm} in 3,000 rows like those before, at row {monitor.update(rich[:500]).alarm_row} once "
        "all are rich"
    )


def moved_covariates(adult: pd.DataFrame) -> None:
    """Other ages are no news, another income at the same age is."""
    detector = hld.HLDDetector(covariates=["age", "sex"], **QUICK).fit(adult[:12_000])
    rng, rest = np.random.default_rng(0), adult[12_000:]
    older = rest.sample(600, weights=np.exp(rest["age"] / 30), random_state=1)
    poorer = rest.sample(600, random_state=2)
    poorer = poorer.assign(income=np.where(rng.random(600) < 0.6, "<=50K", poorer["income"]))
    print(
        f"older people: {detector.test(older).context.moved} moved; poorer ones of the same ages: "
        f"{detector.test(poorer).context.moved}"
    )


def plan_and_audit(detector: hld.HLDDetector, adult: pd.DataFrame) -> None:
    """What will be found with 500 rows a day, and is it?"""
    edit = hld.Edit("sex", "Female", 0.1)
    planned, rows = detector.power(edit, 500), detector.sample_size(edit)
    audit = hld.audit(detector, adult[6000:26_000], [500], [edit], num_batches=40)
    rates = {row.situation: row.rate for row in audit.rows}
    print(
        f"ten more women in a hundred: planned for {planned:.0%} of the days, found on {rates[str(edit)]:.0%}; "
        f"{rows} rows for 90 %; without a shift {rates['random rows']:.0%}"
    )


def sums_and_pairs_of_batches(detector: hld.HLDDetector, adult: pd.DataFrame) -> None:
    """No row leaves its site; and batches compared with one another."""
    north, south = (detector.summarize(adult[start : start + 500]) for start in (6000, 6500))
    men, women = (adult[7000:][adult["sex"][7000:] == sex][:400] for sex in ("Male", "Female"))
    both = north + south
    print(
        f"sums of two sites: p = {detector.test(both).pvalue:.2g}, {len(both.to_json())} characters; "
        f"men and women: p = {hld.two_sample(detector, men, women).pvalue:.2g}"
    )


def size_of_a_shift(detector: hld.HLDDetector, adult: pd.DataFrame) -> None:
    """Many rows make a trifle significant: how large is it?"""
    rest = adult[6000:]
    some = rest.assign(hours=rest["hours"] + 10 * (np.arange(len(rest)) % 20 == 0))
    found = detector.test(some)
    print(
        f"ten hours more for one in twenty of {len(rest)} people: p = {found.pvalue:.2g}, effect {found.effect:.1%}, "
        f"at least {found.effect_interval[0]:.1%}"
    )


if __name__ == "__main__":
    if "HLD_DATA" in os.environ:
        main(pathlib.Path(os.environ["HLD_DATA"]))
    else:
        print("set HLD_DATA to a folder with adult/adult.data.gz and covertype/covertype.npz")
