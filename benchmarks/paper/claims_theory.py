"""The paper's theory and method: what is proved, computed or said without a table, and the tests that show it here.

Nothing in this group needs a result, so its verdicts are written down; each rests on the test that is
named, and `tests/test_paper_claims.py` checks that each of these tests exists.
"""

from .claims import FAILS, HOLDS, NOT_DONE, PARTLY, Claim, judged
from .findings import span

THEORY, DISTANCES = "tests/test_paper_theory.py", "tests/hld/vectors/test_distances.py"
LOCALIZATION = "tests/hld/results/test_localization.py"


def shown(file, *names) -> str:
    """Text that names tests."""
    return ", ".join(f"`{name}`" for name in names) + f" in `{file}`"


def theory_claims(findings) -> dict:
    """{heading: claims}; `findings` give the level of the closed-form threshold."""
    return {
        "Theory, the distance": DISTANCE,
        "Theory, the test and its moments": [*TEST, *_thresholds(findings)],
    }


DISTANCE = [
    Claim(
        "node likelihoods lie in [0, 1]",
        "by definition",
        shown(THEORY, "test_node_likelihoods_are_probabilities"),
        HOLDS,
    ),
    Claim(
        "d_C is non-negative, symmetric, obeys the triangle inequality; P = Q gives 0",
        "stated",
        shown(THEORY, "test_pseudo_metric_on_all_distributions")
        + "; "
        + shown(DISTANCES, "test_pseudo_metric"),
        HOLDS,
    ),
    Claim(
        "d_C(P, Q) = 0 does not imply P = Q; it sees the expectations of the nodes and nothing else",
        "stated",
        shown(THEORY, "test_distance_zero_without_equality", "test_distance_sees_node_means_only"),
        HOLDS,
    ),
    Claim(
        "theorem 1: d_C is the integral probability metric of x -> a . L(x), norm of a at most 1",
        "proved",
        shown(THEORY, "test_integral_probability_metric_identity")
        + "; "
        + shown(DISTANCES, "test_integral_probability_metric_of_the_unit_ball"),
        HOLDS,
    ),
    Claim(
        "each coordinate differs by at most TV(P, Q); d_C^2 at most m TV^2",
        "proved",
        shown(
            THEORY,
            "test_total_variation_bounds_each_coordinate",
            "test_the_total_variation_bound_is_attained",
        ),
        HOLDS,
    ),
    Claim(
        "d_C^2 at most (m / 2) KL(P, Q)",
        "proved",
        shown(THEORY, "test_kullback_leibler_bound"),
        HOLDS,
    ),
    Claim(
        "total variation is the metric of functions with absolute value at most 1 (supplement A)",
        "stated",
        "these functions give 2 TV; those between 0 and 1, which the proof uses, give TV: "
        + shown(THEORY, "test_total_variation_is_half_of_the_unit_ball"),
        FAILS,
    ),
    Claim(
        "lemma 1: two scopes are disjoint, equal or nested",
        "proved",
        shown(THEORY, "test_scope_trichotomy_of_all_units"),
        HOLDS,
    ),
]
TEST = [
    Claim(
        "E d^2 = tr(S) / T, exactly",
        "stated",
        shown(THEORY, "test_first_two_moments_of_the_statistic"),
        HOLDS,
    ),
    Claim(
        "Var d^2 is 2 tr(S^2) / T^2 to leading order",
        "stated",
        "the rest is (E norm(Y)^4 - tr(S)^2 - 2 tr(S^2)) / T^3: "
        + shown(THEORY, "test_first_two_moments_of_the_statistic"),
        HOLDS,
    ),
    Claim(
        "T d^2 tends to a weighted sum of chi-squares, weights the eigenvalues of S",
        "stated",
        shown(THEORY, "test_limit_law_on_a_small_circuit"),
        HOLDS,
    ),
    Claim(
        "mu and S are exact and tractable; algorithm 1",
        "stated",
        "algorithm 1, our recursion and enumeration agree: "
        + shown(THEORY, "test_algorithm_1_gives_the_exact_moments"),
        HOLDS,
    ),
    Claim(
        "a product of two circuits has at most N^2 nodes, of three at most N^3",
        "stated",
        "fewer, since only nodes of one scope meet: "
        + shown(THEORY, "test_sizes_of_product_circuits"),
        HOLDS,
    ),
    Claim(
        "all S means in O(S N^2), all covariances in O(S^2 N^3), N nodes",
        "stated",
        "an upper bound if each node has boundedly many edges, since a product circuit has as many edges as pairs of "
        "edges ("
        + shown(THEORY, "test_edges_of_product_circuits")
        + "), and far from needed: one pass over pairs "
        "of units per region gives all means, and traces are linear in the variables (`docs/moments.md`, "
        "`benchmarks.bench_moments`)",
        PARTLY,
    ),
    Claim(
        "the threshold needs tr(S) and tr(S^2) only, and no ID row at deployment",
        "stated",
        'by construction: `HLDTest(circuit, null="normal")` takes a circuit',
        HOLDS,
    ),
    Claim(
        "d^2 is a sum over nodes, so nodes can be ranked",
        "stated",
        shown(
            LOCALIZATION, "test_variable_scores_add_up_to_the_squared_statistic_and_follow_scopes"
        ),
        HOLDS,
    ),
    Claim(
        "continuous inputs", "future work", "not here either: input units are categorical", NOT_DONE
    ),
]


def _thresholds(findings) -> list:
    """The closed form and the numerical quantile, by their level on rows of the circuits."""
    sizes = (10, 50, 100, 200, 500, 1000)
    normal, exact = (
        [findings.value("tabular", "model", method, T) for T in sizes]
        for method in ("HLD", "HLD exact")
    )
    levels = findings.true_levels(0.05)
    known = f" ({span(levels)} by the spectra)" if levels else ""
    return [
        Claim(
            "the closed form is accurate unless few eigenvalues dominate; else the quantile can be computed",
            "both stated",
            f"false alarms at .05 on rows of the circuits, T of 10 and more: closed form "
            f"{span(normal)}{known}, quantile {span(exact)}",
            judged(
                max(abs(rate - 0.05) for rate in exact) < max(abs(rate - 0.05) for rate in normal)
            ),
        )
    ]
