"""Whether regions fit a v-tree, which is all that makes them a circuit.

Over a v-tree with R nodes there are R regions in post-order:

* at the leaf of variable v an input region of v;
* at an inner node an inner region whose table ``products`` has one column per child, in the order of the children,
  with entries below the number of units that the child's region shows;
* at the root a region that shows one unit, the distribution.

Then each product multiplies units of disjoint scopes and each sum mixes products of one scope, so that the circuit is
smooth and structured-decomposable.  What a table holds is checked by the region itself (`pcircuit.regions`).
"""

from __future__ import annotations

from typing import Any, NoReturn

from pcircuit.regions import InnerRegion, InputRegion, StructureError
from pcircuit.vtree import VTree


def check_regions(vtree: VTree, regions: tuple[Any, ...]) -> None:
    """Raise the first disagreement between a v-tree and its regions."""
    if not isinstance(vtree, VTree):
        raise TypeError(f"`vtree` must be a VTree, found {type(vtree).__name__}")
    if len(regions) != vtree.num_nodes:
        raise StructureError(
            f"`regions` has {len(regions)} entries but the v-tree {vtree.num_nodes} nodes: "
            "give one region per node, in post-order"
        )
    children_of, variables = vtree.child_lists(), vtree.variables.tolist()

    def fail(r: int, message: str) -> NoReturn:
        raise StructureError(f"region {r} with scope {vtree.scope(r).tolist()}: {message}")

    for r, region in enumerate(regions):
        if variables[r] >= 0:
            if not isinstance(region, InputRegion):
                fail(
                    r,
                    f"found {type(region).__name__}, but the v-tree node is the leaf of variable {variables[r]}, "
                    "which needs an InputRegion",
                )
            if region.variable != variables[r]:
                fail(
                    r,
                    f"the region is of variable {region.variable}, the v-tree leaf of variable {variables[r]}",
                )
            continue
        if not isinstance(region, InnerRegion):
            fail(
                r,
                f"found {type(region).__name__}, but the v-tree node has children and needs an InnerRegion",
            )
        children = children_of[r]
        if region.products.shape[1] != len(children):
            fail(
                r,
                f"`products` has {region.products.shape[1]} columns, the v-tree node {len(children)} children",
            )
        available = [regions[c].num_units for c in children]
        largest = region.products.max(axis=0).tolist()
        for child, units, most in zip(children, available, largest, strict=True):
            if most >= units:
                fail(
                    r,
                    f"`products` asks for unit {most} of child region {child}, which has {units} units",
                )
    if regions[-1].num_units != 1:
        fail(
            len(regions) - 1,
            f"the root region shows {regions[-1].num_units} units, a circuit has exactly one root",
        )
