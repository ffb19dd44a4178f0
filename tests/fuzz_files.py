"""Model files that nobody wrote: damaged ones, and valid archives with contents that no writer would give them.

Half of the files are archives with right checksums whose header and arrays were changed: entries replaced by nasty
values or by those of another model, arrays permuted, negated, cut, of another type or shape.  The other half are
archives with changed bytes.  Reading one must either raise the documented error, a ValueError in one sentence, or
give an object that is right in every method: `fuzz_checks` says what that means for each kind.

    python tests/fuzz_files.py 100000                  so many files of every kind, from seed 0
    python tests/fuzz_files.py 100000 --seed 7 --kinds circuit,monitor

Files that fail are kept in the folder of `--keep` and the exit status is 1.  A fixed part runs with the tests
(`tests/test_fuzz_files.py`).  Everything happens in memory.
"""

from __future__ import annotations

import argparse
import collections
import copy
import io
import json
import pathlib
import struct
import sys
import time
import traceback
import warnings

import numpy as np

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[i]) for i in (1, 0)]

import archives  # noqa: E402

RAW = "@raw@"  # stands in a header for text that is no JSON value

TOKENS = [
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    "-1e400",
    "1" * 21,
    "1" * 5000,
    "0." + "3" * 60,
    "1e-400",
    "-0",
    "[" * 40 + "]" * 40,
    "[" * 5000,
    '{"a":1,"a":2}',
    '"\\ud800"',
    "tru",
    "'a'",
    "01",
    "/**/1",
    '"\x00"',
    "1.0e5",
]
VALUES = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2,
    3,
    7,
    10**6,
    10**7,
    10**8,
    2**31,
    2**53,
    2**53 + 1,
    2**63,
    2**64 - 1,
    -(2**63),
    0.5,
    1.5,
    -0.5,
    -0.0,
    1e-3,
    1e-9,
    1e-300,
    5e-324,
    1e300,
    1.7e308,
    -1e300,
    0.999999999,
    1.000001,
    "",
    "nan",
    "inf",
    "-inf",
    "0x0",
    "0x1",
    "0x1p+0",
    "-0x1p-3",
    "0x1p+1000",
    "0x" + "f" * 33,
    "x",
    "auto",
    "exact",
    "normal",
    "monte-carlo",
    "circuit",
    "training",
    "euclidean",
    "whitened",
    "\x1b[31m",
    "a" * 3000,
    [],
    {},
    [[]],
    {"a": 1},
    [None],
    [0.5, 0.5],
    [1, 2, 3],
    list(range(50)),
    ["int", 1],
    ["float", "nan"],
    ["str", "a"],
]
NUMBERS = [
    np.nan,
    np.inf,
    -np.inf,
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    1e-300,
    5e-324,
    1e-17,
    1e-9,
    1e9,
    1e154,
    1e300,
    1.7e308,
]
INTEGERS = [0, 1, 2, 3, -1, -2, 5, 9, 100, 2**31 - 1, 2**31, 2**53, 2**62, 2**63 - 1, -(2**63)]
TYPES = ["?", "i1", "u1", "<i2", "<i4", ">i4", "<i8", "<u8", "<f2", "<f4", ">f8", "<f8"]


def pack(members: dict) -> bytes:
    """An archive with right checksums, as bytes."""
    file = io.BytesIO()
    archives.pack(file, members)
    return file.getvalue()


def members_of(header: dict, arrays: dict, raw: str | None = None) -> dict:
    """Members of an archive; `raw` takes the place of RAW in the header."""
    text = json.dumps({"library": "fuzz", "arrays": sorted(arrays), **header})
    if raw is not None:
        text = text.replace(json.dumps(RAW), raw, 1)
    members = {f"{name}.npy": archives.npy(array) for name, array in arrays.items()}
    return {"header.json": text.encode("utf-8", "surrogatepass"), **members}


# -- changes of contents -------------------------------------------------------------------------------------------


def crafted(rng, parts, others) -> bytes:
    """A valid archive whose header or arrays were changed in one to three places."""
    header, arrays, raw = copy.deepcopy(parts[0]), dict(parts[1]), None
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3])):
        other = others[rng.integers(len(others))]
        draw = rng.random()
        if draw < 0.62:
            change_arrays(rng, arrays, other[1])
        elif draw < 0.97:
            change_header(rng, header, other[0])
        else:
            raw = change_header(rng, header, other[0], raw=True)
    return pack(members_of(header, arrays, raw))


def places(value, path=()) -> list:
    """Paths to all values in nested dicts and lists."""
    found = []
    entries = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, entry in entries:
        found += [(*path, key), *places(entry, (*path, key))]
    return found


def at(value, path):
    """What stands at a path, None if it does not exist."""
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def change_header(rng, header, other, *, raw=False):
    """Change one entry of a header in place; with `raw`, returns a text to be put there."""
    found = places(header)
    path = found[rng.integers(len(found))]
    owner, key = at(header, path[:-1]), path[-1]
    old = owner[key]
    if raw:
        owner[key] = RAW
        return TOKENS[rng.integers(len(TOKENS))]
    kind = rng.integers(8)
    if kind <= 2:
        owner[key] = copy.deepcopy(VALUES[rng.integers(len(VALUES))])
    elif kind == 3:
        owner[key] = copy.deepcopy(at(other, path))
    elif kind == 4:
        owner[key] = copy.deepcopy(at(header, found[rng.integers(len(found))]))
    elif kind == 5:
        del owner[key]
    elif kind == 6 and isinstance(owner, list):
        owner.insert(int(rng.integers(len(owner) + 1)), copy.deepcopy(old))
    elif kind == 6:
        owner[["more", "version", "format", "library"][rng.integers(4)]] = copy.deepcopy(old)
    else:
        owner[key] = near(rng, old)
    return None


def near(rng, value):
    """A value like another one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + int(rng.choice([-1, 1, 2, 100, -value - 1, value]))
    if isinstance(value, float):
        return float(value * rng.choice([2, 0.5, -1, 1 + 1e-12, 1 + 1e-6, 1e10, 1e-10, 0]))
    if isinstance(value, str):
        return value[:-1] if rng.random() < 0.5 else value + "0"
    if isinstance(value, list):
        return [value[i] for i in rng.permutation(len(value))]
    return value


def change_arrays(rng, arrays, other):
    """Change one array, or several at once, in place."""
    names = sorted(arrays)
    if not names:
        return
    name = names[rng.integers(len(names))]
    kind = rng.integers(12)
    if kind == 0:
        del arrays[name]
    elif kind == 1:
        arrays[["x", f"{name}.", "circuit.x", "state.x", "test.x"][rng.integers(5)]] = arrays[name]
    elif kind == 2:
        partner = names[rng.integers(len(names))]
        arrays[name], arrays[partner] = arrays[partner], arrays[name]
    elif kind <= 4:
        shared = [one for one in names if one in other]
        for i in rng.permutation(len(shared))[: rng.integers(1, 4)]:
            arrays[shared[i]] = other[shared[i]]
    elif kind == 5:  # all of one part of another model, its circuit for instance
        prefix = name.partition(".")[0]
        for one in [one for one in names if one.startswith(prefix)]:
            del arrays[one]
        arrays.update({one: array for one, array in other.items() if one.startswith(prefix)})
    elif kind == 6:
        arrays[name] = retyped(rng, arrays[name])
    elif kind == 7:
        arrays[name] = reshaped(rng, arrays[name])
    else:
        arrays[name] = altered(rng, arrays[name])


def retyped(rng, array):
    """The array as another type."""
    with np.errstate(all="ignore"):
        return array.astype(TYPES[rng.integers(len(TYPES))])


def reshaped(rng, array):
    """The array with more or fewer entries or dimensions."""
    size = array.size
    flat = array.ravel()
    options = (
        [
            array[None],
            array.T,
            flat,
            flat[:0],
            flat[:-1],
            np.append(flat, flat[-1:]),
            np.tile(array, 2),
            array[:0],
            flat[:1].reshape(()) if size else flat,
            flat.reshape(-1, 1),
            np.asfortranarray(array),
            array[:-1],
            np.concatenate([array, array[-1:]]),
        ]
        if array.ndim
        else [array[None], np.repeat(array, 3)]
    )
    return np.asarray(options[rng.integers(len(options))])


def altered(rng, array):
    """The array with other entries."""
    if not array.size:
        return array
    array = np.array(array)
    flat, kind = array.reshape(-1), rng.integers(10)
    pool = NUMBERS if array.dtype.kind == "f" else INTEGERS
    if kind <= 3:
        value = pool[rng.integers(len(pool))]
        if (
            array.dtype.kind in "iu"
            and not np.iinfo(array.dtype).min <= value <= np.iinfo(array.dtype).max
        ):
            array = array.astype(np.int64)
            flat = array.reshape(-1)
        flat[rng.integers(flat.size) if kind <= 2 else slice(None)] = value
        return array
    if kind == 4:
        return rng.permutation(flat).reshape(array.shape)
    if kind == 5:
        return -array if array.dtype.kind in "if" else array
    if kind == 6:
        return np.sort(flat)[:: rng.choice([-1, 1])].reshape(array.shape)
    if kind == 7:
        i, j = rng.integers(flat.size, size=2)
        flat[i] = flat[j]
        return array
    with np.errstate(all="ignore"):
        if kind == 8 and array.dtype.kind == "f":
            return array * rng.choice([0.5, 2, 1 + 1e-12, 1 + 1e-6, 1e-6, 1e6, 1e300])
        if array.dtype.kind == "f":
            flat[rng.integers(flat.size)] *= rng.choice(
                [0.5, 2, 1 + 1e-12, 1 + 1e-6, 0, -1, 1 + 1e-9]
            )
        else:
            flat[rng.integers(flat.size)] += rng.choice([-1, 1]).astype(array.dtype)
    return array


# -- changes of bytes ----------------------------------------------------------------------------------------------


def damaged(rng, parts, others) -> bytes:
    """An archive with changed bytes: anywhere, in its directory, or in one member with the checksum made right."""
    members = members_of(*parts)
    if rng.random() < 0.5:
        name = list(members)[rng.integers(len(members))]
        members[name] = changed_bytes(
            rng, members[name], pack(members_of(*others[rng.integers(len(others))]))
        )
        return pack(members)
    data = pack(members)
    if rng.random() < 0.4:
        start = data.index(b"PK\x01\x02")
        return data[:start] + changed_bytes(rng, data[start:], data)
    return changed_bytes(rng, data, pack(members_of(*others[rng.integers(len(others))])))


def changed_bytes(rng, data: bytes, other: bytes) -> bytes:
    """Bytes flipped, cut, doubled, inserted, or replaced by numbers."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        if not data:
            break
        i, kind = int(rng.integers(len(data))), rng.integers(7)
        if kind <= 1:
            data[i] ^= 1 << int(rng.integers(8))
        elif kind == 2:
            data[i] = int(rng.choice([0, 255, 40, 44, 34, 45, 57, 48]))
        elif kind == 3:
            del data[i : i + int(rng.integers(1, 9))]
        elif kind == 4:
            data[i:i] = rng.bytes(int(rng.integers(1, 9)))
        elif kind == 5:
            data[i : i + 4] = struct.pack(
                "<I", int(rng.choice([0, 1, 2**31, 2**32 - 1, rng.integers(2**32)]))
            )
        else:
            j = int(rng.integers(len(other)))
            data[i : i + 50] = other[j : j + 50]
    return bytes(data)


# -- the run -------------------------------------------------------------------------------------------------------


def file_number(kind, number: int, seed: int) -> bytes:
    """The bytes of one file: the same for equal arguments; even numbers are crafted, odd ones damaged."""
    rng = np.random.default_rng([seed, number])
    parts = kind.parts[rng.integers(len(kind.parts))]
    with np.errstate(all="ignore"):  # no number is too odd for a file
        return (damaged if number % 2 else crafted)(rng, parts, kind.parts)


def outcome(kind, data: bytes, rng) -> str:
    """What reading gives: "refused", or "accepted" if the object is right; raises AssertionError for all else."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            found = kind.read(io.BytesIO(data))
        except ValueError as error:
            sentence = str(error)
            assert sentence, "an error without a word"
            assert "\n" not in sentence, sentence
            assert all(letter.isprintable() for letter in sentence), repr(sentence)
            assert len(sentence) < 2000, sentence
            return "refused"
        kind.check(found, rng)
    return "accepted"


def run(kinds, start: int, stop: int, seed: int = 0, keep=None, report=None) -> collections.Counter:
    """Read the files start..stop-1 of each kind; returns how many had which outcome, and keeps those that failed."""
    counts = collections.Counter()
    for number in range(start, stop):
        for kind in kinds:
            data = file_number(kind, number, seed)
            made = "damaged" if number % 2 else "crafted"
            try:
                result = outcome(kind, data, np.random.default_rng([seed, number, 1]))
            except Exception as error:  # whatever it is, it is a finding
                result = "FAILED"
                if keep is not None:
                    (keep / f"{kind.name}-{seed}-{number}").write_bytes(data)
                    (keep / f"{kind.name}-{seed}-{number}.txt").write_text(traceback.format_exc())
                if report is not None:
                    report(f"{kind.name} {number}: {type(error).__name__}: {str(error)[:300]}")
            counts[kind.name, made, result] += 1
    return counts


def main(arguments=None) -> int:
    """Command line of the module's head."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("files", type=int, help="how many files of each kind")
    parser.add_argument("--start", type=int, default=0, help="number of the first")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default="circuit,monitor,detector")
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("fuzz-failures"))
    chosen = parser.parse_args(arguments)
    from fuzz_checks import KINDS

    kinds = [KINDS[name]() for name in chosen.kinds.split(",")]
    chosen.keep.mkdir(exist_ok=True)
    total, started, step = collections.Counter(), time.monotonic(), 2000
    for start in range(chosen.start, chosen.start + chosen.files, step):
        stop = min(start + step, chosen.start + chosen.files)
        total += run(
            kinds,
            start,
            stop,
            chosen.seed,
            chosen.keep,
            report=lambda line: print(line, flush=True),
        )
        print(
            f"{stop} files of each kind, {time.monotonic() - started:.0f} s: "
            + ", ".join(f"{' '.join(key)} {count}" for key, count in sorted(total.items())),
            flush=True,
        )
    return int(any(result == "FAILED" for _, _, result in total))


if __name__ == "__main__":
    sys.exit(main())
