"""EM while it learns: the log-likelihood after each epoch, how far parameters move, and a page to go through."""

import numpy as np
import pytest
import zoo

import pcircuit
from pcircuit import Circuit, InnerRegion, InputRegion, VTree
from pcircuit.pictures.circuits import vtree_scene
from pcircuit.pictures.scene import page

ZOO = zoo.circuits()
COINS = ZOO["two_coins"]


def moved(*tables):
    """The two coins with other tables."""
    first, second, weights = tables
    return Circuit(
        COINS.vtree,
        [
            InputRegion(0, first),
            InputRegion(1, second),
            InnerRegion(COINS.regions[2].products, weights),
        ],
    )


def test_learning_is_drawn_as_it_went(ax):
    rows = np.array([[0, 0, 1], [1, 1, 0], [1, 1, 1], [0, 0, 0]] * 3)
    steps = [pcircuit.hclt(rows, 2)]
    for _ in range(4):
        steps.append(pcircuit.fit_em(steps[-1], rows, num_epochs=1)[0])
    (line,) = pcircuit.plot_learning(steps, rows, ax=ax).lines
    _, history = pcircuit.fit_em(steps[0], rows, num_epochs=4)
    np.testing.assert_allclose(line.get_ydata(), history, rtol=1e-12)
    with pytest.raises(ValueError, match="at least one step of EM, found 1"):
        pcircuit.plot_learning(steps[:1], rows)
    with pytest.raises(ValueError, match="different structures"):
        pcircuit.plot_learning([steps[0], ZOO["two_coins"]], rows)


def test_a_page_of_learning_has_a_picture_for_each_epoch(tmp_path):
    rows = np.array([[0, 0], [1, 1], [1, 0]])
    steps = [pcircuit.hclt(rows, 2)]
    steps.append(pcircuit.fit_em(steps[0], rows, num_epochs=1)[0])
    pcircuit.write_learning_html(steps, tmp_path / "em.html", data=rows)
    text = (tmp_path / "em.html").read_text(encoding="utf-8")
    assert text.count("<svg") == 2
    assert 'type="range" id="step" min="0" max="1"' in text
    means = [pcircuit.log_likelihood(step, rows).mean() for step in steps]
    assert all(f"epoch {i}: {mean:.4f} nats per row" in text for i, mean in enumerate(means))
    with pytest.raises(ValueError, match="a page shows at most 200: give every 2th"):
        pcircuit.write_learning_html(steps * 101, tmp_path / "b.html")
    assert (
        "slider" not in page([vtree_scene(VTree.balanced(2))], [""], "t", "x").split("<script>")[0]
    )


def test_the_other_axis_has_the_largest_change_of_any_parameter(ax):
    steps = [
        COINS,
        moved([[0.7, 0.3], [0.2, 0.8]], [[0.7, 0.3], [0.4, 0.6]], [[0.25, 0.75]]),
        moved([[0.7, 0.3], [0.2, 0.8]], [[0.75, 0.25], [0.4, 0.6]], [[0.65, 0.35]]),
    ]
    steps.append(steps[-1])
    pcircuit.plot_learning(steps, [[0, 1]], ax=ax)
    (other,) = (axes for axes in ax.figure.axes if axes is not ax)
    (line,) = other.lines
    assert line.get_xdata().tolist() == [1, 2, 3]
    np.testing.assert_allclose(line.get_ydata(), [0.2, 0.4, 0.0], atol=1e-15)
    assert ax.lines[0].get_xdata().tolist() == [0, 1, 2, 3]


OTHER_TREE = Circuit(
    VTree.from_nested([1, 0]), [COINS.regions[1], COINS.regions[0], COINS.regions[2]]
)
OTHER_SIZE = Circuit(
    COINS.vtree, [InputRegion(0, [[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]]), *COINS.regions[1:]]
)
OTHER_PRODUCTS = Circuit(
    COINS.vtree, [*COINS.regions[:2], InnerRegion([[0, 1], [1, 0]], [[0.25, 0.75]])]
)


@pytest.mark.parametrize(
    ("circuits", "data", "error", "message"),
    [
        (COINS, [[0, 0]], TypeError, "`circuits` must be a sequence of circuits, found Circuit"),
        (
            [COINS, 3],
            [[0, 0]],
            TypeError,
            r"`circuits\[1\]` must be a pcircuit\.Circuit, found int",
        ),
        (
            [],
            [[0, 0]],
            ValueError,
            "`circuits` must hold the start and at least one step of EM, found 0",
        ),
        *(
            (
                [COINS, COINS, other],
                [[0, 0]],
                ValueError,
                "`circuits` must be steps of one circuit, found different struct",
            )
            for other in (OTHER_TREE, OTHER_SIZE, OTHER_PRODUCTS)
        ),
        (
            [COINS, COINS],
            np.empty((0, 2), dtype=int),
            ValueError,
            "`data` has no rows: their log-likelihood needs at",
        ),
        ([COINS, COINS], [[0, 7]], ValueError, "`data` holds 7"),
    ],
)
def test_what_are_no_steps_of_em_on_rows_is_refused(circuits, data, error, message, tmp_path, ax):
    with pytest.raises(error, match=message):
        pcircuit.plot_learning(circuits, data, ax=ax)
    assert not ax.lines
    with pytest.raises(error, match=message):
        pcircuit.write_learning_html(circuits, tmp_path / "a.html", data=data)
    assert list(tmp_path.iterdir()) == []
