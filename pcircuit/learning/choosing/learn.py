r"""Learning in one call: sizes, smoothing and stopping are chosen on rows that EM does not see.

    1. *Size.*  A Hidden Chow-Liu tree (`hclt`) with K = 8 states, then 16, 32, ... is fitted by EM.  The validation
       rows are evaluated every ten epochs; two evaluations without a gain end a fit, and the best parameters are kept.
       A second fit of each K begins with the states of the one before, each split into two (`grown`), and the better
       one counts.  The first K that is no better than the one before ends the search.  A large one may be worth more
       with few epochs than a small one with many: each fit gets a quarter of what the search has left.
    2. *Smoothing.*  The same with other pseudocounts, at the best K.
    3. *Many models.*  Trees of bootstrap samples, trees for the parts of random divisions of the rows, mixtures over
       a continuous hidden variable and kernels around the rows err in different ways, and their mixture has the higher
       likelihood (`pcircuit.learning.choosing.averages`).
    4. *Jointly.*  EM for an average of trees lets each specialise, where the validation rows gain by it.
    5. *The last step.*  The circuit of step 2 takes one step of EM more, with the first pseudocount or less (but not 0
       where it was fitted with more), and with the rows that chose it where these are of the same table.

No step begins what would take the search beyond its limit of work (`pcircuit.learning.choosing.averages`).

Steps 1, 2 and 5 give a circuit with one v-tree: exact moments and the test need that, and get the best one.
Steps 3 and 4 give a `Mixture`, for likelihoods and samples.

Why the last step: a pseudocount a for each unit is like a K rows more in which every category of a column is as
frequent as every other.  It guards single units against chance, and so validation rows often choose a large one, but
all units together are wrong in the same direction: a category that never occurs gets the probability a K / (C N), and
a test of a thousand rows against the circuit's own means finds that.  A step with a small pseudocount sets these means
to those of the rows, and hardly moves what each unit stands for.

Growing a circuit: every state is split into two that begin almost alike.

EM from random start values has to find out everything about 2K states at once.  A circuit with K fitted states already
knows most of it; copies of a state, told apart by a little noise, are then free to specialise (Dang, Liu and Van den
Broeck 2022).  Unit i of a region becomes units 2i and 2i + 1, product p of units (i, j, ...) becomes the products of
(2i, 2j, ...) and of (2i + 1, 2j + 1, ...), and each takes half of the weight:

.. math:: w'_{2k+a, \, 2p+b} = \tfrac12 \, w_{kp}, \qquad a, b \in \{0, 1\} .

Without noise the distribution is the same, since both copies of a unit are equal.  With it, each number is multiplied
by exp(noise z), z standard normal, and rows are divided by their sums.
"""

import logging
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcircuit.arguments import Floats, Seed, check_generator
from pcircuit.circuit import Circuit, InnerRegion, InputRegion, Mixture
from pcircuit.evidence import float_table
from pcircuit.inference.likelihood import log_likelihood
from pcircuit.inference.threads import count_jobs
from pcircuit.learning.choosing.averages import LARGEST_SHARE, Making, averaged, work_of
from pcircuit.learning.choosing.densities import learned_densities
from pcircuit.learning.choosing.fits import Rows, Size, fitted_from, fitted_tree, merged
from pcircuit.learning.choosing.search import Learned, LearnSearch, Trial
from pcircuit.learning.chow_liu import chow_liu_tree
from pcircuit.learning.em import fit_em, progress_bar
from pcircuit.learning.pair_counts import checked_table

LOG = logging.getLogger(__name__)
HELD_SHARE, MOST_HELD = 0.1, 10_000  # of the rows, where no validation rows are given
NOISE = 1.0  # between the copies of a state that is split


def learn(
    data: ArrayLike,
    validation: ArrayLike | None = None,
    *,
    num_categories: ArrayLike | None = None,
    search: LearnSearch | None = None,
    rng: Seed = 0,
    n_jobs: int | None = None,
    progress: bool = False,
    leaves: Any = None,
) -> Learned:
    """Learn a circuit, or a mixture of circuits, from a table: structure, size, smoothing and parameters.

    Maximises the mean log-likelihood of the validation rows over Hidden Chow-Liu trees and mixtures of them, in the
    steps of the module's head.

    Parameters
    ----------
    data : (N, V) array_like
        Categories 0..C-1; -1, NaN or masked where an entry is missing; N at least 2, or 1 with `validation`.
    validation : (M, V) array_like, optional
        Rows to choose by.  Default: a random tenth of `data`, at most 10,000 rows, which EM then does not see.
    num_categories : int or (V,) ints, optional
        Categories of each variable.  Default: the largest entry of both tables plus one, and at least two.
    search : LearnSearch, optional
        What is tried.  Default: up to 64 states, three pseudocounts, a mixture of up to 32 models of each way.
    rng : int or numpy.random.Generator
        Seed or generator of start values, bootstrap samples and held-out rows.  Default 0.
    n_jobs : int, optional
        Threads; None uses all CPUs.  The result does not depend on it, to the last bit, as long as one engine does all
        the work (see `fit_em`); continuous mixtures depend on how the BLAS of NumPy rounds.
    progress : bool
        Draw a progress bar on standard error (needs `rich`; silent without it, and if that is not a terminal).  Each
        trial is also logged, at level INFO.
    leaves : str, family, or sequence of these, optional
        For columns of numbers, NaN where missing, as for `hclt`: "auto" chooses for each column.  Then trees of 4 to 32
        states and mixtures of correlated blocks are tried, each without one of five parts of the rows, which judges it
        (`pcircuit.learning.choosing.densities`).  Default: categories.

    Returns
    -------
    Learned
        With `circuit`, `mixture` (or None), `model` (the better one), the validation curve of each trial, and `plot`.
        Without `validation`, its mean log-likelihood is that of the model before the last step.

    Raises
    ------
    TypeError, ValueError
        If a table or an option is not as described.

    Warns
    -----
    UserWarning
        If rows to choose by are impossible under the result, which needs a pseudocount of 0: their mean is then -inf
        for all models that rule them out, and the first of these is kept.

    Notes
    -----
    A mixture with kernels around rows (`Learned.trials` names them) can be read back into training rows: see
    `LearnSearch.bandwidths`.  The circuit holds none.

    Costs at most the work of `LearnSearch.max_work`, by default about six minutes of two cores (and more only
    if the first size alone takes more).  On the binary sets, with 1,600 to 290,000 rows of 16 to 500 columns, see
    `docs/learning.md`.

    References
    ----------
    A. Liu and G. Van den Broeck (2021), Tractable regularization of probabilistic circuits, NeurIPS 34; L. Breiman
    (1996), Bagging predictors, Machine Learning 24; M. Meila and M. Jordan (2000), Learning with mixtures of trees,
    JMLR 1; T. Rahman, P. Kothalkar and V. Gogate (2014), Cutset networks, ECML PKDD; N. Di Mauro, G. Gala, M. Iannotta
    and T. Basile (2021), Random probabilistic circuits, UAI; A. Correia, G. Gala, E. Quaeghebeur, C. de Campos and R.
    Peharz (2023), Continuous mixtures of tractable probabilistic models, AAAI.

    Examples
    --------
    >>> generator = np.random.default_rng(0)
    >>> group = generator.integers(2, size=(400, 1))
    >>> rows = (generator.random((400, 5)) < 0.1 + 0.8 * group).astype(int)   # five noisy copies of a hidden bit
    >>> learned = learn(rows, search=LearnSearch(num_latents=[1, 2, 4], num_trees=2, num_epochs=40))
    >>> learned.circuit.num_variables, learned.validation_log_likelihood > -3
    (5, True)
    """
    generator, _, search = (
        check_generator(rng),
        count_jobs(n_jobs),
        LearnSearch() if search is None else search,
    )
    if not isinstance(search, LearnSearch):
        raise TypeError(
            f"`search` must be a pcircuit.LearnSearch, or None, found {type(search).__name__}"
        )
    trials: list[Trial] = []
    if leaves is not None:
        if num_categories is not None:
            raise ValueError(
                "`num_categories` is for tables of categories: leave it out with `leaves`"
            )
        table = float_table(data)
        held = None if validation is None else float_table(validation, "validation")
        if len(table) < 2:
            raise ValueError("`data` must have at least two rows to choose by, found one")
        with progress_bar(progress, search.num_trees + 5) as advance:

            def noted(trial: Trial) -> float:
                trials.append(trial)
                advance(trial.best)
                return trial.best

            best, several, logs = learned_densities(
                table, held, leaves, search, generator, n_jobs, noted
            )
        return _learned(best, several, logs, trials)
    rows = _split(data, validation, num_categories, generator, n_jobs)
    fits = len(search.num_latents) + len(search.pseudocounts) - 1
    if search.num_trees > 1:  # about: cheap ones are more
        fits += search.num_trees + 2 * (len(search.num_parts) + 2) + len(search.bandwidths)
    with progress_bar(progress, fits) as advance:

        def note(trial: Trial) -> float:
            LOG.info(
                "%s, %d states, pseudocount %g: validation %.4f",
                trial.name,
                trial.num_latents,
                trial.pseudocount,
                trial.best,
            )
            trials.append(trial)
            advance(trial.best)
            return trial.best

        making = Making(rows, search, generator, trials, note)
        circuit, trial = _single(making)
        mixture = averaged(circuit, trial, making) if search.num_trees > 1 else None
    last = _last_step(circuit, trial, rows, search, validation is None)
    judged = circuit if validation is None else last  # without the rows that judge
    logs = log_likelihood(judged if mixture is None else mixture, rows.held, n_jobs=n_jobs)
    _warn_of_impossible(logs)
    return _learned(last, mixture, logs, trials)


def _learned(
    circuit: Circuit, mixture: Mixture | None, logs: Floats, trials: list[Trial]
) -> Learned:
    """The result, with what the model says of the rows that judge; shapes logs (n,)."""
    is_known = len(logs) > 1 and bool(np.isfinite(logs).all())
    error = float(logs.std(ddof=1) / np.sqrt(len(logs))) if is_known else float("inf")
    return Learned(circuit, mixture, float(logs.mean()), error, tuple(trials))


def _split(
    data: ArrayLike,
    validation: ArrayLike | None,
    num_categories: ArrayLike | None,
    generator: np.random.Generator,
    n_jobs: int | None,
) -> Rows:
    """Checked tables, equal training rows merged, and the tree of the training rows."""
    table, categories = checked_table(data, num_categories)
    if validation is None:
        if len(table) < 2:
            raise ValueError(
                "`data` must have at least two rows, one of them to choose by, found one: give "
                "`validation`"
            )
        order = generator.permutation(len(table))
        held_rows = min(max(int(HELD_SHARE * len(table)), 1), MOST_HELD)
        held, table = table[np.sort(order[:held_rows])], table[np.sort(order[held_rows:])]
    else:
        held, held_categories = checked_table(validation, None, "validation")
        if held.shape[1] != table.shape[1]:
            raise ValueError(
                f"`validation` must have the {table.shape[1]} columns of `data`, found {held.shape[1]}"
            )
        if num_categories is not None:  # not before: it has one for each column of `data`
            held, held_categories = checked_table(held, categories, "validation")
        categories = np.maximum(categories, held_categories)
    tree = chow_liu_tree(table, num_categories=categories)
    return Rows(table, *merged(table), held, categories, tree, n_jobs)


def _single(making: Making) -> tuple[Circuit, Trial]:
    """The best circuit on the Chow-Liu tree of all rows, and how it was fitted."""
    rows, search, generator, _, note = making

    def fitted(num_latents: int, pseudocount: float, name: str) -> tuple[Circuit, Trial]:
        limited = making.limited(num_latents, share=LARGEST_SHARE)
        found = fitted_tree(
            rows, rows.tree, Size(num_latents, pseudocount), limited, generator, name
        )
        note(found[1])
        return found

    best = fitted(search.num_latents[0], search.pseudocounts[0], "size")
    for num_latents in search.num_latents[1:]:
        if not making.begins(num_latents, best[1]):
            break
        larger = fitted(num_latents, search.pseudocounts[0], "size")
        if (
            search.grow
            and num_latents == 2 * best[1].num_latents
            and making.begins(num_latents, best[1])
        ):
            size, start = (
                Size(num_latents, search.pseudocounts[0]),
                grown(best[0], NOISE, generator),
            )
            limited = making.limited(num_latents, share=LARGEST_SHARE)
            other = fitted_from(rows, start, size, limited, "size, grown")
            note(other[1])
            larger = max(larger, other, key=lambda one: one[1].best)
        if (
            not larger[1].best - best[1].best > search.tolerance
        ):  # nor where a held-out row is impossible under both
            break
        best = larger
    for pseudocount in search.pseudocounts[1:]:
        if not making.affords(work_of(best[1], rows)):
            break
        other = fitted(best[1].num_latents, pseudocount, "smoothing")
        best = other if other[1].best - best[1].best > search.tolerance else best
    return best


def _last_step(
    circuit: Circuit, trial: Trial, rows: Rows, search: LearnSearch, are_all: bool
) -> Circuit:
    """The circuit after one step of EM with little smoothing, from held-out rows as well if they are of the table.

    Without any, what smoothing has made possible would be impossible again.
    """
    pseudocount = min(trial.pseudocount, search.pseudocounts[0]) or trial.pseudocount
    if not are_all and pseudocount == trial.pseudocount:
        return circuit
    table = np.concatenate([rows.table, rows.held]) if are_all else rows.table
    return fit_em(circuit, table, num_epochs=1, pseudocount=pseudocount, n_jobs=rows.n_jobs)[0]


def _warn_of_impossible(logs: Floats) -> None:
    """Say that the mean is minus infinity, which tells no two models apart: the first one tried is kept."""
    impossible = int(np.count_nonzero(logs == -np.inf))
    if impossible:
        warnings.warn(
            f"{impossible} of {len(logs)} rows to choose by, of `validation` or set apart from `data`, are impossible "
            "under the learned model, so that their mean log-likelihood is -inf, by which models cannot be compared: "
            "let all `pseudocounts` of `search` be positive, or take such rows out",
            stacklevel=3,
        )


def grown(circuit: Circuit, noise: float, generator: np.random.Generator) -> Circuit:
    """A circuit with twice as many units in all regions but the root."""
    regions: list[InputRegion | InnerRegion] = []
    for r, region in enumerate(circuit.regions):
        copies = 1 if r == circuit.vtree.root else 2
        if region.is_input:
            probs = np.repeat(region.probs, copies, axis=0)
            regions.append(InputRegion(region.variable, _apart(probs, noise, generator)))
            continue
        products = 2 * np.repeat(region.products, 2, axis=0)
        products[1::2] += 1
        weights = np.repeat(np.repeat(np.asarray(region.weights), 2, axis=1) / 2, copies, axis=0)
        regions.append(InnerRegion(products, _apart(weights, noise, generator)))
    return Circuit(circuit.vtree, regions)


def _apart(shares: Floats, noise: float, generator: np.random.Generator) -> Floats:
    """Rows with noise, which sum to one."""
    noisy = shares * np.exp(noise * generator.standard_normal(shares.shape))
    return noisy / noisy.sum(axis=1, keepdims=True)
