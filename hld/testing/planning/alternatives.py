r"""What a batch may come from instead: a circuit, rows, or the learned distribution with a more frequent level.

The test sees an alternative through the mean of its likelihood vectors and their covariance,

.. math:: \delta = E_1[L(X)] - \mu, \qquad S_1 = \mathrm{Cov}_1(L(X)).

* *Rows*: their sample mean and covariance.  The mean of N rows has an error of 1/sqrt(N) standard deviations of a row,
  so N should be many times the batch size that is planned.
* *A circuit* over the same variables: the same for NUM_DRAWN rows drawn from it.
* *An edit*: variable c has level a with probability p + h instead of p, and everything else given c is as it was:

  .. math:: P_1 = (p + h)\, P(\cdot \mid x_c = a) + (1 - p - h)\, P(\cdot \mid x_c \ne a), \qquad
            \delta = \frac{h}{1 - p} \big(E[L \mid x_c = a] - E[L]\big).

  The conditional mean is that of NUM_DRAWN rows drawn from the circuit under x_c = a, all else is exact; S_1 is that of
  the mixture.  Where rows are the reference, the edit applies to their source: delta is taken from the circuit, and
  S_1 from the rows.
"""

from __future__ import annotations

import reprlib
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

import pcircuit
from hld.answers.column_shifts import labels_of
from hld.answers.table_facts import as_table
from hld.features.row_vectors import some_rows
from hld.references.circuit import CircuitReference
from hld.references.reference import MAX_FULL_SPECTRUM
from hld.tables.shown_names import listed
from pcircuit.arguments import check_whole_number
from pcircuit.circuit import check_distribution
from pcircuit.evidence import check_evidence

NUM_DRAWN = 20_000
NUM_SINGLE = 2_000  # rows that are tested one by one
SEED = 14
ROUNDING = 1e-12  # of a probability


@dataclass(frozen=True)
class Edit:
    """A level that becomes more or less frequent.

    Attributes
    ----------
    column : int or str
        Variable of a circuit by position; column of a table by name, or by position in the training table.
    level : int or object
        Category of a circuit; level of a table, or for a column with bins a number in the bin.
    by : float
        h, the change of its probability among the cells that are there: 0.05 is five more in a hundred, of all rows
        where no cell of the column is missing.

    Examples
    --------
    >>> Edit.read("sex=F:+0.05")
    Edit(column='sex', level='F', by=0.05)
    """

    column: object
    level: object
    by: float

    def __post_init__(self) -> None:
        if (
            isinstance(self.by, bool)
            or not isinstance(self.by, Real)
            or not -1 < self.by < 1
            or not self.by
        ):
            raise ValueError(
                f"`by` of an edit must be a change of a probability above -1 and below 1 and not 0, found "
                f"{self.by!r}"
            )
        object.__setattr__(self, "by", float(self.by))  # of any precision

    @classmethod
    def read(cls, text: str) -> Edit:
        """An edit from a text such as ``sex=F:+0.05``.

        Parameters
        ----------
        text : str
            column=level:change; the change is a share of the cells of the column that are there.

        Returns
        -------
        Edit

        Examples
        --------
        >>> str(Edit.read("sex=F:+0.05"))
        'sex = F: +5 % of cells'
        """
        column, equal, rest = text.partition("=")
        level, colon, by = rest.rpartition(":")
        try:
            number = float(by)
        except ValueError:
            number = None
        if not (equal and colon and column) or number is None:
            raise ValueError(
                f"an edit is written column=level:change, such as sex=F:+0.05, found {text!r}"
            )
        return cls(column, level, number)

    def __str__(self) -> Any:
        return f"{self.column} = {self.level}: {100 * self.by:+g} % of cells"


def read_edits(edits: object) -> list[Edit]:
    """The edits of a sequence of edits and texts."""
    if not isinstance(edits, (list, tuple)):
        raise TypeError(f"`edits` must be a list of edits such as 'sex=F:+0.05', found {edits!r}")
    found: list[Any] = []
    for one in edits:
        try:
            found.append(Edit.read(one) if isinstance(one, str) else one)
        except (TypeError, ValueError) as error:
            raise ValueError(f"`edits` has {reprlib.repr(one)}: {error}") from error
        if not isinstance(found[-1], Edit):
            raise TypeError(
                f"`edits` must be a list of edits such as 'sex=F:+0.05', found {reprlib.repr(one)} in it"
            )
    return found


def coded_edit(detector: Any, edit: Edit) -> Edit:
    """An edit with a variable and a category in place of names."""
    place = _place(detector.encoder_, edit)
    p = float(pcircuit.marginal_tables(detector.circuit_)[place["column"]][place["level"]])
    if not 0 < p < 1 or share_after(p, edit.by) is None:
        raise ValueError(
            f"`by` of an edit is {edit.by:g}, but level {edit.level!r} of column {edit.column!r} has the "
            f"share {p:.4g}: expected a level that some rows have and some not, and a result from 0 to 1"
        )
    return replace(edit, **place)


def _place(encoder: Any, edit: Edit) -> dict[str, Any]:
    """Variable and category of an edit's column and level."""
    names = encoder.names
    column: Any = edit.column
    is_number = isinstance(column, (int, np.integer)) and not isinstance(column, bool)
    if is_number and 0 <= column < len(encoder.table_names):
        column = encoder.table_names[column]
    if column not in names:
        raise ValueError(
            f"`column` of an edit must be one of {listed(names, 8, near=edit.column)}, found {edit.column!r}"
        )
    v = names.index(column)
    labels = labels_of(encoder.columns[v])[:-1]  # missing cells are no level of the circuit
    text = str(edit.level)
    folded = [one.casefold() for one in labels]
    if text in labels:
        return {"column": v, "level": labels.index(text)}
    if folded.count(text.casefold()) == 1:  # as shells and files write true and false
        return {"column": v, "level": folded.index(text.casefold())}
    cells = np.full((1, len(names)), None, dtype=object)
    cells[0, v] = _as_number(edit.level)
    try:
        codes, report, _, _ = encoder.encode_counting(as_table(encoder, cells))
        if codes[0, v] >= 0 and not report.num_unseen[v]:
            return {"column": v, "level": int(codes[0, v])}
    except ValueError:  # the schema refuses what is none of the levels
        pass
    raise ValueError(
        f"`level` of an edit must be one of those of column {names[v]!r} ({', '.join(labels[:8])}), found "
        f"{edit.level!r}"
    )


def _as_number(level: Any) -> Any:
    """A text as the number that it may be, and all else as it is."""
    try:
        return float(level) if isinstance(level, str) else level
    except ValueError:
        return level


@dataclass(frozen=True, eq=False)
class Alternative:
    """What a plan needs to know of an alternative.

    Shapes: delta (size + E,), covariance (size, size), rows (N, V).
    """

    delta: np.ndarray
    covariance: np.ndarray
    is_relative: bool
    num_rows: int | None
    rows: np.ndarray
    together: Any = None


def alternative_of(planner: Any, what: Any) -> Alternative:
    """The alternative that an argument stands for, to a `hld.testing.planning.power.Planner`."""
    circuit = planner.test.circuit
    if isinstance(what, Alternative):
        return what
    if isinstance(what, Edit):
        return edited(planner, what)
    if isinstance(what, pcircuit.Circuit):
        check_distribution(what, "alternative")
        if tuple(what.num_categories) != tuple(circuit.num_categories):
            raise ValueError("`alternative` is a circuit over other variables than the test's")
        what = pcircuit.sample(what, NUM_DRAWN, rng=np.random.default_rng([SEED, 0]))
    rows = check_evidence(circuit, what, name="alternative")
    if len(rows) < 2 or rows.min() < 0:
        raise ValueError(
            f"`alternative` has {len(rows)} rows, expected at least two without missing entries"
        )
    delta, some = planner.means(rows) - planner.reference_mean(), some_rows(len(rows), NUM_SINGLE)
    covariance, together = _covariance(planner.test, rows), planner.together(rows[some])
    return Alternative(delta, covariance, False, len(rows), rows[some], together)


def edited(planner: Any, edit: Edit) -> Alternative:
    """The alternative of an edit."""
    test = planner.test
    circuit, by, size = test.circuit, edit.by, len(test.mean)
    variable = check_whole_number(edit.column, "column", 0, circuit.num_variables - 1)
    level = check_whole_number(edit.level, "level", 0, circuit.num_categories[variable] - 1)
    p = float(np.exp(pcircuit.log_probability(circuit, {variable: level})))
    q = share_after(p, by)
    if not 0 < p < 1 or q is None:
        raise ValueError(
            f"`by` of an edit changes the probability {p:.4g} of level {level} of variable {variable} by "
            f"{by:g}, expected a level that is neither impossible nor certain and a result from 0 to 1"
        )
    before, is_relative = own_covariance(test)
    inside = under_level(circuit, variable, level, NUM_DRAWN)
    shift = planner.means(inside) - planner.own_mean()
    # S = p W + (1 - p) V + p / (1 - p) g g^t with g the difference of the means of level and all: V is that of the rest
    within, gap = _covariance(test, inside), shift[:size]
    rest = (before - p * within - p / (1 - p) * np.outer(gap, gap)) / (1 - p)
    covariance = q * within + (1 - q) * rest + q * (1 - q) / (1 - p) ** 2 * np.outer(gap, gap)
    rows = edited_rows(circuit, edit, NUM_SINGLE)
    delta, together = by / (1 - p) * shift, planner.together(rows)
    return Alternative(delta, covariance, is_relative, None, rows, together)


def share_after(p: float, by: float) -> float | None:
    """The probability p + h, None where it is none; 0 and 1 where rounding alone goes beyond them."""
    q = p + by
    return min(max(q, 0.0), 1.0) if -ROUNDING <= q <= 1.0 + ROUNDING else None


def under_level(circuit: pcircuit.Circuit, variable: int, level: int, n: int) -> np.ndarray:
    """(n, V) rows of the circuit under the condition that a variable has a level."""
    given = np.full((1, circuit.num_variables), -1)
    given[0, variable] = level
    return pcircuit.sample(
        circuit, n, given=given, rng=np.random.default_rng([SEED, variable, level])
    )


def edited_rows(circuit: pcircuit.Circuit, edit: Edit, n: int) -> np.ndarray:
    """(n, V) rows of the circuit with an edit: the level of each row first, and the others given it."""
    variable, level = int(edit.column), int(edit.level)  # type: ignore[call-overload]
    rng = np.random.default_rng([SEED, variable, level, 1])
    shares = np.array(pcircuit.marginal_tables(circuit)[variable], dtype=np.float64)
    q, shares[level] = min(max(float(shares[level]) + edit.by, 0.0), 1.0), 0.0
    shares *= (1 - q) / max(float(shares.sum()), np.finfo(float).tiny)
    shares[level] = q
    given = np.full((n, circuit.num_variables), -1)
    given[:, variable] = rng.choice(len(shares), size=n, p=shares / shares.sum())
    return pcircuit.sample(circuit, n, given=given, rng=rng)


def own_mean(test: Any) -> np.ndarray:
    """(size,) mean of the vector under the circuit: of likelihoods exact, and the mean score is zero."""
    if test.calibration.kept is None:
        return test.mean
    means, features = CircuitReference(test.circuit, test.nodes).mean, test.vectors.features
    if features is not None:
        means = np.append(means, np.zeros(features.num_features))
    return compared(test, means)


def own_covariance(test: Any) -> tuple[np.ndarray, bool]:
    """(size, size) covariance of the vector of a row under the reference, and whether it was estimated from rows."""
    if len(test.mean) > MAX_FULL_SPECTRUM:
        raise ValueError(
            f"`alternative` as an edit needs a covariance of at most {MAX_FULL_SPECTRUM} numbers, "
            f"but the test looks at {len(test.mean)}: give fewer `nodes`, or leave out the metric 'score'"
        )
    kept = test.calibration.kept
    if kept is not None and len(kept.covariance):
        return kept.covariance, True
    return CircuitReference(test.circuit, test.nodes, test.mean).covariance(), False


def compared(test: Any, vectors: np.ndarray) -> np.ndarray:
    """Vectors (..., size) with zeros in place of the numbers that no row of the reference shows.

    A batch is not compared by these, so a shift that they alone show is not found: those of a column without any value.
    """
    kept = test.calibration.kept
    has_holes = kept is not None and kept.has_holes
    return np.where(kept.counts > 0, vectors, 0.0) if has_holes else vectors


def _covariance(test: Any, rows: np.ndarray) -> np.ndarray:
    """(size, size) sample covariance of the vectors of rows."""
    vectors: np.ndarray = compared(test, test.vectors.rows(rows))
    return np.atleast_2d(np.cov(vectors.T))
