"""The real data sets that tests look at, as evidence, from the folder named by HLD_DATA."""

import gzip

import numpy as np

from hld.tables.schemas.learn_schema import fit_encoder


def adult(folder):
    """Adult: codes (48842, 14) and whether the income is over 50K; numbers cut at 8 quantiles."""
    import pandas as pd

    parts = [
        pd.read_csv(
            folder / "adult" / name,
            header=None,
            skipinitialspace=True,
            na_values="?",
            skiprows=skip,
        )
        for name, skip in (("adult.data.gz", 0), ("adult.test.gz", 1))
    ]
    table = pd.concat(parts, ignore_index=True)
    rich = table[14].astype(str).str.strip(".").eq(">50K").to_numpy()
    table = table.drop(columns=14).rename(columns=str)
    encoder = fit_encoder(table, num_bins=8)
    return encoder.encode(table)[0], rich, encoder.num_categories


def digits(folder, *, size=7):
    """MNIST: binarised images (70000, size * size) by average pooling, and labels."""
    images, labels = [], []
    for part in ("train", "t10k"):
        with gzip.open(next((folder / "mnist").glob(f"{part}-images*.gz"))) as file:
            images.append(np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28))
        with gzip.open(next((folder / "mnist").glob(f"{part}-labels*.gz"))) as file:
            labels.append(np.frombuffer(file.read(), np.uint8, offset=8))
    pixels = (
        np.concatenate(images).reshape(-1, size, 28 // size, size, 28 // size).mean(axis=(2, 4))
    )
    return (pixels >= 127.5).reshape(len(pixels), -1).astype(np.uint8), np.concatenate(labels)


def halves(rows, rng):
    """The rows in random order, cut in two."""
    rows = rows[rng.permutation(len(rows))]
    return rows[: len(rows) // 2], rows[len(rows) // 2 :]
