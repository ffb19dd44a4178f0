"""Two months of a shop's orders as people have them: does the command line find the six bad days of the second?

    python -m benchmarks.orders [--seed 0] [--table shop]

The table has 21 columns and 30,000 rows: dates, running numbers, identifiers, money and weights as text, rare levels,
holes, a free text.  The first month is learned.  Each day of the second is tested in five ways:

    defaults     hld fit, hld test --by day
    advice       the same with each flag that the messages of that fit name
    groups       hld fit --groups day
    time         hld fit --order time
    monitor      hld monitor, on the second month as one stream from the first bad day on, and on the days before

Printed are the bad days found, the other days called, the exit statuses and the seconds.
"""

import argparse
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

import numpy as np
import pandas as pd

ROWS, FIRST, DAYS, LEARNED = 30_000, "2026-01-01", 59, 31  # January and February
BAD = ("dearer", "other currency", "broken join", "new level", "holes", "other unit")
# a second table with other words, to see that no rule knows those of the first
NAMES = {
    "rides": {
        "order_id": "ride_no",
        "reference": "token",
        "placed_at": "started",
        "day": "service_day",
        "price": "fare",
        "weight": "distance",
        "country": "district",
        "city": "stop",
        "channel": "source",
        "device": "vehicle",
        "note": "remark",
    }
}
MONEY = {"shop": ("EUR {}", "USD {}", "."), "rides": ("{} €", "{} $", ",")}


def orders(seed: int, kind: str = "shop") -> tuple[pd.DataFrame, dict[str, str]]:
    """The table, and which breakage each bad day has."""
    rng = np.random.default_rng(seed)
    days = np.sort(rng.integers(0, DAYS, ROWS))
    seconds = np.sort(days * 86_400 + (rng.beta(4, 3, ROWS) * 86_400).astype(int))
    placed = pd.Timestamp(FIRST) + pd.to_timedelta(seconds, unit="s")
    country = rng.choice(10, ROWS, p=zipf(10))
    city = np.minimum(rng.zipf(1.5, ROWS), 400)
    channel = rng.choice(4, ROWS, p=[0.45, 0.3, 0.2, 0.05])
    device = np.where(rng.random(ROWS) < 0.75, channel % 3, rng.integers(0, 3, ROWS))
    product = rng.choice(300, ROWS, p=zipf(300))
    quantity = 1 + rng.geometric(0.6, ROWS) % 9
    price = np.exp(2.5 + (product % 17) / 9 + 0.25 * rng.normal(size=ROWS)) * quantity
    weight = 0.2 + (product % 13) / 4 * quantity + rng.gamma(2, 0.3, ROWS)
    age = np.clip(rng.normal(41, 14, ROWS), 16, 95).astype(int)
    no_age = rng.random(ROWS) < 0.12
    bad = dict(
        zip(np.sort(rng.choice(np.arange(LEARNED, DAYS), 6, replace=False)), BAD, strict=True)
    )
    broken = {why: days == day for day, why in bad.items()}
    price = np.where(broken["dearer"], 1.19 * price, price)
    at = np.flatnonzero(broken["broken join"])
    device[at] = rng.permutation(device[at])
    country = np.where(broken["new level"] & (rng.random(ROWS) < 0.05), 10, country)
    no_age |= broken["holes"] & (rng.random(ROWS) < 0.3)
    own, other, mark = MONEY[kind]
    is_other = broken["other currency"] & (rng.random(ROWS) < 0.1)
    in_grams = broken["other unit"] & (rng.random(ROWS) < 0.1)
    words = ["please", "leave", "it", "with", "my", "neighbour", "gift", "ring", "twice", "thanks"]
    picked = rng.integers(0, len(words), (ROWS, 6))
    table = pd.DataFrame(
        {
            "order_id": 7_000_000 + np.cumsum(rng.integers(1, 4, ROWS)),
            "reference": [f"{a:08x}" for a in rng.integers(0, 2**32, ROWS)],
            "placed_at": placed.strftime("%Y-%m-%d %H:%M:%S"),
            "day": placed.strftime("%Y-%m-%d"),
            "weekday": placed.strftime("%a"),
            "customer": rng.integers(1, 6_000, ROWS),
            "country": np.array([*"ABCDEFGHIJX"])[country],
            "city": [f"{'ABCDEFGHIJX'[c]}-{k}" for c, k in zip(country, city, strict=True)],
            "channel": np.array(["web", "app", "shop", "phone"])[channel],
            "device": np.array(["desktop", "mobile", "tablet"])[device],
            "product": [f"p{k:03d}" for k in product],
            "category": [f"c{k % 8}" for k in product],
            "quantity": quantity,
            "price": texts(price, 2, mark, np.where(is_other, other, own)),
            "discount": texts(
                rng.choice([0, 2.5, 5, 12.5], ROWS, p=[0.6, 0.2, 0.1, 0.1]), 1, mark, "{} %"
            ),
            "weight": texts(
                np.where(in_grams, 1000 * weight, weight),
                1,
                mark,
                np.where(in_grams, "{} g", "{} kg"),
            ),
            "payment": rng.choice(
                ["card", "transfer", "invoice", "voucher"], ROWS, p=[0.6, 0.2, 0.15, 0.05]
            ),
            "age": np.where(no_age, np.nan, age),
            "rating": np.where(rng.random(ROWS) < 0.6, np.nan, rng.integers(1, 6, ROWS)),
            "coupon": [f"K{k}" if k < 900 else "" for k in rng.integers(0, 4_000, ROWS)],
            "note": [
                " ".join(words[k] for k in row) if k0 else ""
                for row, k0 in zip(picked, rng.random(ROWS) < 0.4, strict=True)
            ],
        }
    )
    names = pd.date_range(FIRST, periods=DAYS).strftime("%Y-%m-%d")
    return table.rename(columns=NAMES.get(kind, {})), {names[day]: why for day, why in bad.items()}


def zipf(count: int) -> np.ndarray:
    """Probabilities of ranks 1 .. count."""
    shares = 1 / np.arange(1.0, count + 1)
    return shares / shares.sum()


def texts(numbers: np.ndarray, digits: int, mark: str, forms: object) -> list[str]:
    """Numbers as people write them, with a form such as "EUR {}" for all or for each."""
    forms = [forms] * len(numbers) if isinstance(forms, str) else forms
    return [
        form.format(f"{one:.{digits}f}".replace(".", mark))
        for one, form in zip(numbers, forms, strict=True)
    ]


def run(*words: object, text: str | None = None) -> tuple[int, str, str, float]:
    """Exit status, output, errors and seconds of a command."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "hld", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        input=text,
    )
    if done.returncode == 2:
        raise SystemExit(f"{words}: {done.stderr}")
    return done.returncode, done.stdout, done.stderr, time.perf_counter() - start


def advised(errors: str) -> list[list[str]]:
    """What messages advise: each flag with its columns, as a line of the shell has them."""
    found = re.findall(r"(?<=[ :])(--[a-z-]+ (?:'[^']+'|[^\s;,']+(?:,[^\s;,']+)*))", errors)
    return [shlex.split(one) for one in dict.fromkeys(found)]


def by_day(model: object, second: pathlib.Path, day: str) -> tuple[int, set[str], float]:
    """Exit status, days called, seconds."""
    status, output, _, seconds = run("test", model, second, "--by", day, "--json")
    found = json.loads(output)
    return status, {one["label"][:10] for one in found["segments"] if one["reject"]}, seconds


def stream(model: object, rows: pd.DataFrame) -> str | None:
    """The row of the alarm, None without one."""
    _, output, _, _ = run("monitor", model, "--alarm-only", "--stop", text=rows.to_csv(index=False))
    return json.loads(output.strip().split("\n")[-1])["alarm_row"]


def show(name: str, called: set[str], bad: dict[str, str], rest: str) -> None:
    """One line of the table."""
    missed = ", ".join(bad[day] for day in sorted(set(bad) - called))
    print(
        f"{name:<12} found {len(called & set(bad))} of {len(bad)}, false {len(called - set(bad))} of "
        f"{DAYS - LEARNED - len(bad)}, {rest}{f', missed: {missed}' if missed else ''}",
        flush=True,
    )


def main() -> None:
    """Make the table, run the commands, print what they find."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", choices=("shop", "rides"), default="shop")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        compare(options, pathlib.Path(scratch))


def compare(options: argparse.Namespace, folder: pathlib.Path) -> None:
    """All ways on one table."""
    table, bad = orders(options.seed, options.table)
    day = NAMES.get(options.table, {}).get("day", "day")
    is_first = table[day] < sorted(table[day].unique())[LEARNED]
    first, second, model = folder / "first.csv", folder / "second.csv", folder / "model.hld"
    table[is_first].to_csv(first, index=False)
    table[~is_first].to_csv(second, index=False)
    print("bad days:", ", ".join(f"{one} ({why})" for one, why in sorted(bad.items())))
    ways = [("groups", ["--groups", day]), ("time", ["--order", "time"]), ("defaults", [])]
    for name, words in ways:  # which grows by what the fit with defaults advises
        _, _, errors, seconds = run("fit", first, "-o", model, *words)
        status, called, more = by_day(model, second, day)
        show(name, called, bad, f"status {status}, fit {seconds:.1f} s, test {more:.1f} s")
        if name == "defaults":
            start = table[~is_first & (table[day] >= min(bad))]
            before = table[~is_first & (table[day] < min(bad))]
            alarm = stream(model, start)
            when = "no alarm" if alarm is None else f"alarm on {start[day].iloc[alarm - 1]}"
            quiet = "none" if not len(before) or stream(model, before) is None else "a false one"
            print(f"{'monitor':<12} first bad day {min(bad)}: {when}; in the days before: {quiet}")
            ways += [(" ".join(one), one) for one in advised(errors)]


if __name__ == "__main__":
    main()
