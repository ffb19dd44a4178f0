"""The models of a service: loaded, tried once, and replaced as a whole when their files change.

A request takes the current `LoadedModel` when it begins and keeps it to the end, so that nobody waits for a new
version and nobody sees half of one.  A file that cannot be read leaves the old version in place; what was wrong is
shown with the model.

A version of a model, which its name and digest tell, has one monitor: a request that began under an old version and
one that began after its file came back add their rows to the same monitor.  Where states are kept in files, a monitor
of an old version that no request has any more is forgotten, and read again if the version comes back.
"""

import contextlib
import hashlib
import logging
import os
import pathlib
import re
import threading
import time
import weakref
from collections.abc import MutableMapping
from dataclasses import dataclass, replace
from typing import Any

from hld.apps.serve.limits import Refusal, busy
from hld.apps.serve.watches import Watch, lock_states
from hld.detector.detector import HLDDetector, load
from hld.tables.drawing import draw_rows

LOG = logging.getLogger("hld.serve")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
TRIAL_ROWS = 50
MOST_BATCHES, MOST_BYTES = 32, 2**26  # kept for their reports


class Heard:
    """The last batches of a model by their ids, and what all of them were: how many, the last one, the last shift."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {"batches": 0, "rows": 0, "last": None, "last_shift": None}
        self._batches: dict[str, Any] = {}

    def keep(self, key: str, batch: Any, verdict: Any) -> None:
        """Keep a batch, no more than `MOST_BATCHES`, and not more bytes than all of them may have."""
        last = {"time": time.time(), "pvalue": verdict.pvalue, "rows": verdict.num_rows}
        self.facts = {
            "batches": self.facts["batches"] + 1,
            "rows": self.facts["rows"] + verdict.num_rows,
            "last": last,
            "last_shift": last if verdict.reject else self.facts["last_shift"],
        }
        self._batches[key] = batch
        while (
            len(self._batches) > MOST_BATCHES
            or sum(len(one.body) for one in self._batches.values()) > MOST_BYTES
        ):
            del self._batches[next(iter(self._batches))]

    def find(self, key: str | None) -> Any:
        """The batch of an id, the last one for None; `Refusal` if there is none."""
        batches = self._batches
        if not batches or (key is not None and key not in batches):
            raise Refusal(
                404,
                "id",
                "there is no batch of this `id`: test one, its answer has an id; the last "
                f"{MOST_BATCHES} are kept",
            )
        return batches[next(reversed(batches)) if key is None else key]


@dataclass(frozen=True)
class Stored:
    """A version of a model as another process finds it."""

    name: str
    path: pathlib.Path
    digest: str

    @property
    def detector(self) -> HLDDetector:
        """Read from the file, once; `Refusal` while the file holds another version."""
        digest, detector = _HELD.get(self.path, ("", None))
        if detector is None or digest != self.digest:
            if digest_of(self.path) != self.digest:
                raise busy(f"the file of the model {self.name!r} has just been replaced")
            detector = load(self.path)
            _HELD[self.path] = self.digest, detector
        return detector


_HELD: dict[pathlib.Path, tuple[str, HLDDetector]] = {}  # what this process has read


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """One version of a model: what requests call it, and SHA-256 of its file."""

    name: str
    digest: str
    stored: Stored
    detector: HLDDetector
    loaded: float
    watch: Watch
    stamp: tuple[Any, ...]
    heard: Heard


class Models:
    """The models of a service by name."""

    def __init__(
        self,
        paths: dict[str, Any],
        state: Any = None,
        alpha: float = 0.05,
    ) -> None:
        if state is not None and not pathlib.Path(state).is_dir():
            raise ValueError(
                f"`state` {str(state)!r} is not a folder, expected one that can be written: create it"
            )
        self.paths = {name: pathlib.Path(path).absolute() for name, path in paths.items()}
        self.options = (state, alpha)
        self.alpha = alpha
        self.errors: dict[str, Any] = {}
        self.loaded: dict[str, LoadedModel] = {}
        self._lock = threading.Lock()  # one reload at a time
        # those of versions that have been replaced, too: without files all, else those that a request still has
        self._watches: MutableMapping[tuple[str, str], Watch] = (
            {} if state is None else weakref.WeakValueDictionary()
        )
        with contextlib.ExitStack() as locks:
            for name in self.paths if state is not None else ():
                locks.callback(os.close, lock_states(state, name))
            for name in self.paths:
                self.loaded[name] = self._read(name)
            # lets others have the states; by itself when these models are gone, at the latest with the process
            self.close = weakref.finalize(self, locks.pop_all().close)

    def reload(self, *, only_changed: bool = False) -> dict[str, Any]:
        """Read the files again; for each name "kept", "loaded", or what is wrong."""
        with self._lock:
            return {name: self._reload(name, only_changed) for name in self.paths}

    def _reload(self, name: str, only_changed: bool) -> str:
        """Replace one model, if its file has changed and can be read."""
        before, stamp = self.errors.get(name), None
        try:
            stamp = _stamp(self.paths[name])
            if stamp == self.loaded[name].stamp:  # as it was, or again
                self.errors.pop(name, None)
                return "kept"
            if only_changed and before is not None and stamp == before[0]:
                return "kept"
            new = self._read(name)
        except Exception as error:  # whatever is wrong with the new file, the old model serves on
            text = f"{type(error).__name__}: {error}"
            self.errors[name] = (stamp, text)
            if not only_changed or before != (stamp, text):  # not again of a file that stays away
                LOG.error("model %s stays as it is, the new file cannot be read: %s", name, text)
            return text
        self.errors.pop(name, None)
        self.loaded = {**self.loaded, name: new}
        LOG.info("model %s loaded, SHA-256 %s", name, new.digest)
        return "loaded"

    def _read(self, name: str) -> LoadedModel:
        """Load a file and try the model, which compiles what it needs."""
        path, old = self.paths[name], self.loaded.get(name)
        stamp = _stamp(path)
        detector, digest = load(path), digest_of(path)
        if _stamp(path) != stamp:
            raise ValueError(f"{str(path)!r} was written while it was read")
        if old is not None and old.digest == digest:  # the same contents: all goes on
            return replace(old, stamp=stamp)
        trial = trial_table(detector)
        detector.test(trial)
        watch = self._watches.get((name, digest))
        if watch is None:
            watch = Watch(name, digest, detector, *self.options)
            self._watches[name, digest] = watch
            if watch.warning is not None:
                LOG.warning("monitor of model %s: %s", name, watch.warning)
        watch.monitor.copy().update(trial)
        stored = Stored(name, path, digest)
        return LoadedModel(name, digest, stored, detector, time.time(), watch, stamp, Heard())


def digest_of(path: pathlib.Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def trial_table(detector: HLDDetector) -> dict[str, list[Any]]:
    """Rows drawn from a model as a table of all columns of training, those that are left out without a cell."""
    encoder = detector.encoder_
    rows = draw_rows(detector.circuit_, encoder.columns, detector.values_, TRIAL_ROWS, rng=0)
    drawn = dict(zip(encoder.names, rows.T.tolist(), strict=True))
    return {name: drawn.get(name, [None] * TRIAL_ROWS) for name in encoder.all_names}


def model_paths(arguments: Any) -> dict[str, Any]:
    """Names and paths of arguments such as "orders.hld" or "shop=models/orders.hld"."""
    found: dict[str, Any] = {}
    for argument in arguments:
        name, equals, path = argument.partition("=")
        if not equals or not NAME.fullmatch(name):
            name, path = pathlib.Path(argument).stem, argument
        if not NAME.fullmatch(name) or not path or name in found:
            raise ValueError(
                f"`models` has {argument!r}, expected files with distinct names of letters, digits, '_', '-' and "
                "'.': give one as NAME=FILE"
            )
        found[name] = path
    return found


def _stamp(path: Any) -> tuple[Any, ...]:
    """What changes when a file is replaced or written."""
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns
