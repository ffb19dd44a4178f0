"""Regions and circuits: what is accepted, what is refused with which sentence, and the table of units."""
import fractions
import re

import numpy as np
import pytest
import scipy.sparse
import zoo
from hypothesis import given, settings

import pcircuit
from pcircuit import Circuit, InnerRegion, InputRegion, StructureError, VTree

LONG = 100_000
ZOO = {**zoo.circuits(), **{f"unnormalized {k}": c for k, c in zoo.unnormalized_circuits().items()}}


def rebuilt(circuit):
    """The same circuit from copies of its arrays."""
    regions = [InputRegion(region.variable, region.probs.copy()) if isinstance(region, InputRegion)
               else InnerRegion(region.products.copy(), region.weights.copy()) for region in circuit.regions]
    return Circuit(VTree(circuit.vtree.parents.copy(), circuit.vtree.variables.copy()), regions)


def with_region(circuit, r, region):
    return Circuit(circuit.vtree, [*circuit.regions[:r], region, *circuit.regions[r + 1:]])


# -- regions -------------------------------------------------------------------------------------------------


def test_input_region():
    region = InputRegion(np.int32(3), [[0.5, 0.25, 0.25], [1, 0, 0]])
    assert (region.variable, region.num_units, region.num_categories, region.num_nodes) == (3, 2, 3, 2)
    assert region.probs.dtype == np.float64
    assert repr(region) == "InputRegion(variable 3, 2 units, 3 categories)"


def test_inner_region():
    region = InnerRegion([[0, 2, 0], [1, 0, 5]], [[0.5, 0.5], [0, 1], [1, 0]])
    assert (region.num_units, region.num_products, region.num_nodes, region.is_sparse) == (3, 2, 5, False)
    assert region.products.dtype == np.int64
    assert region.weights.dtype == np.float64
    assert region.dense_weights() is region.weights
    assert repr(region) == "InnerRegion(3 children, 2 products, 3 sums)"
    assert repr(InnerRegion([[0]], [[1.0]])) == "InnerRegion(1 children, 1 products, 1 sum)"


def test_sparse_weights_become_canonical_csr():
    row, column, value = [1, 0, 1, 1], [2, 1, 0, 2], [0.25, 1.0, 0.5, 0.25]  # unsorted, (1, 2) given twice
    for kind in (scipy.sparse.coo_array, scipy.sparse.coo_matrix):
        region = InnerRegion([[0], [1], [2]], kind((value, (row, column)), shape=(2, 3)))
        assert region.is_sparse
        assert isinstance(region.weights, scipy.sparse.csr_array)
        assert region.weights.data.tolist() == [1.0, 0.5, 0.5]
        assert region.weights.indices.tolist() == [1, 0, 2]
        assert region.weights.indptr.tolist() == [0, 1, 3]
        assert region.dense_weights().tolist() == [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]
        assert repr(region) == "InnerRegion(1 children, 3 products, 2 sums, sparse)"
    whole = InnerRegion([[0]], scipy.sparse.csc_array(np.array([[1]], dtype=np.int8)))
    assert whole.weights.dtype == np.float64


def test_sparse_rows_may_be_empty():
    region = InnerRegion([[0], [1]], scipy.sparse.csr_array((3, 2)))
    assert region.num_units == 3
    assert not region.dense_weights().any()


@pytest.mark.parametrize("build", [lambda a: InputRegion(0, a), lambda a: InnerRegion([[0, 0], [1, 1]], a)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_are_read_only_copies(build, order):
    source = np.array([[0.5, 0.5], [0.25, 0.75]], order=order)
    region = build(source)
    table = region.probs if isinstance(region, InputRegion) else region.weights
    source[0, 0] = 9.0
    assert table.tolist() == [[0.5, 0.5], [0.25, 0.75]]
    assert table.flags.c_contiguous
    with pytest.raises(ValueError, match="read-only"):
        table[0, 0] = 1.0


def test_products_and_csr_parts_are_read_only_copies():
    products, weights = np.array([[0, 0], [1, 1]]), scipy.sparse.csr_array([[0.5, 0.5]])
    region = InnerRegion(products, weights)
    products[0, 0] = 9
    weights.data[0] = weights.indices[0] = 9
    assert region.products.tolist() == [[0, 0], [1, 1]]
    assert region.dense_weights().tolist() == [[0.5, 0.5]]
    for array in (region.products[0], region.weights.data, region.weights.indices, region.weights.indptr):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    region.dense_weights()[0] = 7.0  # a fresh array each time
    assert region.dense_weights().tolist() == [[0.5, 0.5]]


def test_fields_cannot_be_replaced():
    coins = zoo.two_coins()
    for thing, name in [(coins, "vtree"), (coins.regions[0], "probs"), (coins.regions[2], "weights")]:
        with pytest.raises(AttributeError, match=name):
            setattr(thing, name, None)
    assert isinstance(coins.regions, tuple)


@pytest.mark.parametrize(("values", "message"), [
    ([0.5, 0.5], "shape (2,)"),
    ([[[1.0]]], "shape (1, 1, 1)"),
    (1.0, "shape ()"),
    ([[]], "shape (1, 0)"),
    (np.zeros((0, 2)), "shape (0, 2)"),
    ([[0.5, -0.125]], "-0.125 at row 0, column 1"),
    ([[0.5, np.nan]], "nan at row 0, column 1"),
    ([[np.inf, 0.5]], "inf at row 0, column 0"),
    ([[-np.inf, 0.5]], "-inf at row 0, column 0"),
    ([[0.5, 0.5], [1.0]], "rows of different lengths"),
    ([["a", "b"]], "<U1 instead of numbers"),
    ([["0.5", "0.5"]], "<U3 instead of numbers"),
    ([[0.5, 0.5j]], "complex128 instead of numbers"),
    ([[0.5, None]], "None at row 0, column 1"),
    ([[10**400, 1]], "inf at row 0, column 0"),
    ([["2020-01-01"]], "<U10 instead of numbers"),
    (np.array([["2020-01-01"]], dtype="datetime64[D]"), "datetime64[D] instead of numbers"),
    (np.ma.array([[0.5, 0.5]], mask=[[True, False]]), "masked entries"),
    ([np.ma.array([0.5, 0.5], mask=[True, False])], "None at row 0, column 0"),
    ({"a": 1}, "{'a': 1}"),
])
def test_bad_tables(values, message):
    expected = "must be a non-empty two-dimensional array of finite numbers of at least 0, found "
    with pytest.raises(StructureError, match=re.escape(f"`probs` {expected}{message}")):
        InputRegion(0, values)
    with pytest.raises(StructureError, match=re.escape(f"`weights` {expected}{message}")):
        InnerRegion([[0, 0], [1, 1]], values)


@pytest.mark.parametrize("variable", [-1, 1.0, "0", True, None, 1.5, np.ma.masked])
def test_bad_variables(variable):
    with pytest.raises(StructureError, match="`variable` must be a whole number of at least 0, found"):
        InputRegion(variable, [[1.0]])


def test_whole_numbers_and_other_precisions_are_numbers():
    for values in ([[1, 0]], [[True, False]], np.array([[1, 0]], dtype=">f4"), [[fractions.Fraction(1), 0]],
                   np.array([[1, 0]], dtype=np.longdouble), np.ma.array([[1, 0]])):
        assert InputRegion(0, values) == InputRegion(0, [[1.0, 0.0]])
    assert InnerRegion(np.array([[0, 1]], dtype=">u8"), [[1.0]]) == InnerRegion([[0, 1]], [[1.0]])


@pytest.mark.parametrize(("products", "message"), [
    ([0, 1], "shape (2,)"),
    ([[0.0, 1.0]], "float64 instead of integers"),
    ([[True, False]], "bool instead of integers"),
    ([[]], "shape (1, 0)"),
    (np.zeros((0, 2), dtype=int), "shape (0, 2)"),
    ([[0, -1]], "-1 at row 0, column 1"),
    ([[0, 2**31]], "2147483648 at row 0, column 1"),
    (np.array([[0, 2**64 - 1]], dtype=np.uint64), "18446744073709551615 at row 0, column 1"),
    ([[0, 2**70]], "1180591620717411303424 at row 0, column 1"),
    ([[0], [0, 1]], "rows of different lengths"),
    (np.ma.array([[0, 1]], mask=[[False, True]]), "masked entries"),
])
def test_bad_products(products, message):
    message = f"`products` must be a non-empty (P, A) array of unit indices from 0 to 2147483647, found {message}"
    with pytest.raises(StructureError, match=re.escape(message)):
        InnerRegion(products, [[1.0]])


@pytest.mark.parametrize("kind", [np.array, scipy.sparse.csr_array])
def test_products_and_weights_must_agree(kind):
    with pytest.raises(StructureError, match="`weights` has 3 columns but `products` 2 rows: they must"):
        InnerRegion([[0], [1]], kind([[0.5, 0.25, 0.25]]))


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_bad_sparse_weights(value):
    with pytest.raises(StructureError, match=f"`weights` holds {value}: all entries must be finite and at"):
        InnerRegion([[0], [1]], scipy.sparse.csr_array([[1.0, value]]))


def test_sparse_weights_of_another_kind():
    with pytest.raises(StructureError, match="`weights` must be a sparse array of real numbers, found complex128"):
        InnerRegion([[0], [1]], scipy.sparse.csr_array([[0.5, 0.5j]]))
    crafted = scipy.sparse.csr_array([[0.5, 0.5]])
    crafted.indices[1] = 10**6
    with pytest.raises(StructureError, match="`weights` is not a well-formed sparse array"):
        InnerRegion([[0], [1]], crafted)
    with pytest.raises(StructureError, match=r"`probs` must be .* found a sparse csr_array"):
        InputRegion(0, scipy.sparse.csr_array([[0.5, 0.5]]))


def test_empty_sparse_weights():
    message = "`weights` must be a non-empty (K, P) array, found shape (0, 2)"
    with pytest.raises(StructureError, match=re.escape(message)):
        InnerRegion([[0], [1]], scipy.sparse.csr_array((0, 2)))


def test_equality_of_regions():
    assert InputRegion(0, [[0.5, 0.5]]) == InputRegion(0, [[0.5, 0.5]])
    assert InputRegion(0, [[0.5, 0.5]]) != InputRegion(1, [[0.5, 0.5]])
    assert InputRegion(0, [[0.5, 0.5]]) != InputRegion(0, [[0.5, np.nextafter(0.5, 1)]])
    assert InputRegion(0, [[1.0]]) != InnerRegion([[0]], [[1.0]])
    assert InnerRegion([[0]], [[1.0]]) != InputRegion(0, [[1.0]])
    dense, other = InnerRegion([[0], [1]], [[0.5, 0.5]]), InnerRegion([[1], [0]], [[0.5, 0.5]])
    sparse = InnerRegion([[0], [1]], scipy.sparse.csr_array([[0.5, 0.5]]))
    assert dense == InnerRegion([[0], [1]], [[0.5, 0.5]])
    assert sparse == InnerRegion([[0], [1]], scipy.sparse.coo_array([[0.5, 0.5]]))
    assert dense != other
    assert dense != sparse  # another form of storage is another region
    assert dense != InnerRegion([[0], [1]], [[0.25, 0.75]])
    for region in (InputRegion(0, [[1.0]]), dense):
        with pytest.raises(TypeError, match="unhashable"):
            hash(region)


def test_structure_error_is_a_value_error():
    assert issubclass(StructureError, ValueError)


# -- circuits that are refused -------------------------------------------------------------------------------


def test_vtree_must_be_a_vtree():
    with pytest.raises(TypeError, match="`vtree` must be a VTree, found list"):
        Circuit([[0, 1]], zoo.two_coins().regions)


@pytest.mark.parametrize("count", [0, 2, 4])
def test_one_region_per_node(count):
    regions = [*zoo.two_coins().regions, InputRegion(0, [[1.0]])][:count]
    with pytest.raises(StructureError, match=f"`regions` has {count} entries but the v-tree 3 nodes"):
        Circuit(VTree.balanced(2), regions)


@pytest.mark.parametrize(("r", "region", "message"), [
    (1, InnerRegion([[0]], [[1.0]]),
     "region 1 with scope [0]: found InnerRegion, but the v-tree node is the leaf of variable 0, which needs "
     "an InputRegion"),
    (1, [[0.5, 0.5]], "region 1 with scope [0]: found list, but the v-tree node is the leaf of variable 0"),
    (1, InputRegion(2, [[0.5, 0.5]]),
     "region 1 with scope [0]: the region is of variable 2, the v-tree leaf of variable 0"),
    (2, InputRegion(2, [[0.5, 0.5]]),
     "region 2 with scope [0, 2]: found InputRegion, but the v-tree node has children and needs an "
     "InnerRegion"),
    (2, InnerRegion([[0, 0, 0]], [[1.0]]),
     "region 2 with scope [0, 2]: `products` has 3 columns, the v-tree node 2 children"),
    (2, InnerRegion([[0]], [[1.0]]),
     "region 2 with scope [0, 2]: `products` has 1 columns, the v-tree node 2 children"),
    (2, InnerRegion([[0, 0], [1, 2]], [[0.5, 0.5], [1.0, 0.0]]),
     "region 2 with scope [0, 2]: `products` asks for unit 2 of child region 1, which has 2 units"),
    (4, InnerRegion([[1, 0], [2, 0]], [[0.5, 0.5]]),
     "region 4 with scope [0, 1, 2]: `products` asks for unit 2 of child region 2, which has 2 units"),
    (4, InnerRegion([[1, 0], [0, 1]], [[0.5, 0.5]]),
     "region 4 with scope [0, 1, 2]: `products` asks for unit 1 of child region 3, which has 1 units"),
    (4, InnerRegion([[0, 0]], [[1.0], [1.0]]),
     "region 4 with scope [0, 1, 2]: the root region shows 2 units, a circuit has exactly one root"),
])
def test_disagreements_name_region_and_scope(r, region, message):
    circuit = Circuit(VTree.from_nested([[2, 0], 1]), [
        InputRegion(2, [[0.5, 0.5], [0.25, 0.75]]), InputRegion(0, [[0.5, 0.5], [1.0, 0.0]]),
        InnerRegion([[0, 0], [1, 1]], [[0.5, 0.5], [1.0, 0.0]]), InputRegion(1, [[1.0]]),
        InnerRegion([[0, 0], [1, 0]], [[0.5, 0.5]])])
    with pytest.raises(StructureError, match=re.escape(message)):
        with_region(circuit, r, region)


def test_one_variable_needs_one_unit():
    message = "region 0 with scope [0]: the root region shows 2 units, a circuit has exactly one root"
    with pytest.raises(StructureError, match=re.escape(message)):
        Circuit(VTree.from_nested(0), [InputRegion(0, [[0.5, 0.5], [1.0, 0.0]])])


# -- what a circuit knows about itself -----------------------------------------------------------------------


@pytest.mark.parametrize("name", ZOO)
def test_table_of_units(name):
    circuit = ZOO[name]
    expected = []
    for r, region in enumerate(circuit.regions):
        size = len(circuit.vtree.scope(r))
        if isinstance(region, InputRegion):
            expected += [("input", r, k, size) for k in range(region.num_units)]
        else:
            expected += [("product", r, p, size) for p in range(region.num_products)]
            expected += [("sum", r, k, size) for k in range(region.num_units)]
    assert circuit.nodes.tolist() == expected
    assert circuit.num_nodes == len(expected)
    owners = [r for _, r, _, _ in expected]
    firsts = [owners.index(r) for r in range(len(circuit.regions))]
    assert circuit.offsets.tolist() == [*firsts, len(expected)]
    for node, (_, r, _, _) in enumerate(expected):
        assert circuit.scope(node).tolist() == circuit.vtree.scope(r).tolist()


@pytest.mark.parametrize("name", ZOO)
def test_counts(name):
    circuit = ZOO[name]
    parameters = 0
    for region in circuit.regions:
        if isinstance(region, InputRegion):
            assert circuit.num_categories[region.variable] == region.num_categories
            parameters += region.num_units * region.num_categories
        else:
            parameters += region.weights.nnz if region.is_sparse else region.num_units * region.num_products
    assert circuit.num_parameters == parameters
    assert len(circuit.num_categories) == circuit.num_variables == circuit.vtree.num_variables


def test_node_ids_that_do_not_exist():
    for node in (-1, 7):
        with pytest.raises(IndexError, match=f"`node_id` {node} does not exist: node ids are 0..6"):
            zoo.two_coins().scope(node)


def test_derived_tables_are_read_only():
    coins = zoo.two_coins()
    assert coins.nodes is coins.nodes
    with pytest.raises(ValueError, match="read-only"):
        coins.nodes.unit[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        coins.offsets[0] = 1


@pytest.mark.parametrize(("amount", "normalised"), [(0.0, True), (5e-10, True), (-5e-10, True), (2e-9, False),
                                                    (-2e-9, False)])
def test_normalised_up_to_1e_9(amount, normalised):
    coins = zoo.two_coins()
    for kind in (np.array, scipy.sparse.csr_array):
        weights = InnerRegion([[0, 0], [1, 1]], kind([[0.25, 0.75 + amount]]))
        assert with_region(coins, 2, weights).is_normalized is normalised
    table = [[0.7, 0.3 + amount], [0.4, 0.6]]
    assert with_region(coins, 1, InputRegion(1, table)).is_normalized is normalised


def test_repr_says_what_is_not_normalised():
    assert repr(zoo.two_coins()) == "Circuit(2 variables, 3 regions, 7 units, 10 parameters)"
    assert repr(zoo.unnormalized_circuits()["zero"]).endswith("5 parameters, not normalised)")


def test_describe():
    assert zoo.two_coins().describe() == "\n".join([
        "Circuit(2 variables, 3 regions, 7 units, 10 parameters)",
        "region 0, scope {0}, node ids 0..1: InputRegion(variable 0, 2 units, 2 categories)",
        "  input 0: 0.9 0.1",
        "  input 1: 0.2 0.8",
        "region 1, scope {1}, node ids 2..3: InputRegion(variable 1, 2 units, 2 categories)",
        "  input 0: 0.7 0.3",
        "  input 1: 0.4 0.6",
        "region 2, scope {0,1}, node ids 4..6: InnerRegion(2 children, 2 products, 1 sum)",
        "  product 0: 0.0 x 1.0",
        "  product 1: 0.1 x 1.1",
        "  sum 0: 0.25 0.75"])


def test_describe_stops_and_says_so():
    lines = zoo.hclt_like().describe(max_regions=2).splitlines()
    assert lines[-1] == "... and 7 more regions"
    assert sum(line.startswith("region") for line in lines) == 2
    assert not zoo.hclt_like().describe(max_regions=9).endswith("more regions")
    assert "  sum 0: 0.4 0.1 0 0.5" in zoo.irregular_csr().describe()


# -- equality ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ZOO)
def test_a_rebuilt_circuit_is_equal(name):
    assert rebuilt(ZOO[name]) == ZOO[name]


@settings(max_examples=30)
@given(zoo.circuit_strategy())
def test_random_circuits_rebuild(circuit):
    assert rebuilt(circuit) == circuit
    assert circuit.num_nodes == len(circuit.nodes)


def test_any_change_makes_it_different():
    coins = zoo.two_coins()
    assert coins != with_region(coins, 0, InputRegion(0, [[0.9, 0.1], [0.2, np.nextafter(0.8, 1)]]))
    assert coins != with_region(coins, 2, InnerRegion([[0, 0], [1, 0]], [[0.25, 0.75]]))
    sparse = scipy.sparse.csr_array([[0.25, 0.75]])
    assert coins != with_region(coins, 2, InnerRegion([[0, 0], [1, 1]], sparse))
    swapped = Circuit(VTree.from_nested([1, 0]), [coins.regions[1], coins.regions[0], coins.regions[2]])
    assert coins != swapped
    assert coins != "coins"
    with pytest.raises(TypeError, match="unhashable"):
        hash(coins)


# -- large ---------------------------------------------------------------------------------------------------


def test_hundred_thousand_variables_in_a_chain():
    vtree = VTree.right_linear(LONG)
    table = np.full((2, 2), 0.5)
    pair, root = InnerRegion([[0, 0], [1, 1]], table), InnerRegion([[0, 0], [1, 1]], table[:1])
    leaves = [InputRegion(v, table) for v in range(LONG)]
    circuit = Circuit(vtree, [*leaves, *[pair] * (LONG - 2), root])  # here leaves come first
    assert circuit.num_nodes == 2 * LONG + 4 * (LONG - 2) + 3
    assert circuit.num_parameters == 4 * LONG + 4 * (LONG - 2) + 2
    assert circuit.num_categories == (2,) * LONG
    assert len(circuit.nodes) == circuit.num_nodes
    assert circuit.nodes.scope_size[-1] == LONG
    assert circuit.scope(0).tolist() == [0]
    assert len(circuit.scope(circuit.num_nodes - 1)) == LONG
    assert circuit.describe(max_regions=1).endswith("more regions")
    message = f"region {LONG + 1} with scope .*: `products` asks for unit 1 of child region {LONG}"
    with pytest.raises(StructureError, match=message):
        with_region(circuit, LONG, root)


# -- large circuits in words -----------------------------------------------------------------------------------


def test_large_circuits_are_described_level_by_level():
    circuit = pcircuit.rat_spn([3] * 64, num_units=4, depth=3, rng=0)
    lines = circuit.describe().splitlines()
    table = [line.split() for line in lines[4:]]
    assert lines[0] == repr(circuit)
    assert lines[1] == "categories: 3 a variable"
    assert table[0][:3] == ["0", "1", "64"]
    assert sum(int(row[1]) for row in table[:-1]) == circuit.num_regions
    assert table[-1][:2] == ["all", str(circuit.num_regions)]
    kinds = [str((circuit.nodes.kind == kind).sum()) for kind in ("input", "product", "sum")]
    assert [cell.replace(",", "") for cell in table[-1][2:5]] == kinds
    assert table[-1][5].replace(",", "") == str(circuit.num_parameters)


def test_deep_circuits_are_described_in_a_few_lines():
    tree = VTree.right_linear(300)
    circuit = Circuit(tree, [InputRegion(v, [[0.5, 0.5]]) if v >= 0 else InnerRegion([[0, 0]], [[1.0]])
                             for v in tree.variables.tolist()])
    lines = circuit.describe().splitlines()
    assert len(lines) < 40
    assert any(line.startswith("... 27") and line.endswith("more levels") for line in lines)
