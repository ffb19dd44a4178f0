"""Circuits in words."""

import zoo

import pcircuit
from pcircuit import Circuit, InnerRegion, InputRegion, VTree


def test_describe():
    assert zoo.two_coins().describe() == "\n".join(
        [
            "Circuit(2 variables, 3 regions, 7 units, 10 parameters)",
            "region 0, scope {0}, unit ids 0..1: InputRegion(variable 0, 2 units, 2 categories)",
            "  input 0: 0.9 0.1",
            "  input 1: 0.2 0.8",
            "region 1, scope {1}, unit ids 2..3: InputRegion(variable 1, 2 units, 2 categories)",
            "  input 0: 0.7 0.3",
            "  input 1: 0.4 0.6",
            "region 2, scope {0,1}, unit ids 4..6: InnerRegion(2 children, 2 products, 1 sum)",
            "  product 0: 0.0 x 1.0",
            "  product 1: 0.1 x 1.1",
            "  sum 0: 0.25 0.75",
        ]
    )


def test_describe_stops_and_says_so():
    lines = zoo.hclt_like().describe(max_regions=2).splitlines()
    assert lines[-1] == "... and 7 more regions"
    assert sum(line.startswith("region") for line in lines) == 2
    assert not zoo.hclt_like().describe(max_regions=9).endswith("more regions")
    assert "  sum 0: 0.4 0.1 0 0.5" in zoo.irregular_csr().describe()


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
    circuit = Circuit(
        tree,
        [
            InputRegion(v, [[0.5, 0.5]]) if v >= 0 else InnerRegion([[0, 0]], [[1.0]])
            for v in tree.variables.tolist()
        ],
    )
    lines = circuit.describe().splitlines()
    assert len(lines) < 40
    assert any(line.startswith("... 27") and line.endswith("more levels") for line in lines)
