"""Does a batch of data still follow the distribution that a probabilistic circuit learned?

Names are loaded when they are first used, so ``import hld`` costs little more than NumPy.
"""

import importlib
from typing import TYPE_CHECKING

import pcircuit

if TYPE_CHECKING:  # what editors and type checkers see
    # isort: off
    from hld import baselines as baselines, gchi2 as gchi2
    from hld.answers import plots as plots
    from hld.detector.audit import AuditResult as AuditResult, audit as audit
    from hld.baselines.mmd import (
        MMDResult as MMDResult,
        MMDTest as MMDTest,
        mmd_squared as mmd_squared,
    )
    from hld.detector.chunks import judge_chunks as judge_chunks
    from hld.detector.two_sample import (
        TwoSampleResult as TwoSampleResult,
        two_sample as two_sample,
    )
    from hld.detector.detector import HLDDetector as HLDDetector
    from hld.detector.detector import load as load, save as save
    from hld.detector.estimator import CircuitDensity as CircuitDensity
    from hld.testing.planning.alternatives import Edit as Edit
    from hld.testing.planning.of_tables import Plan as Plan, plan as plan
    from hld.witnesses.result import HLDResult as HLDResult
    from hld.tables.schemas.encoder import TableEncoder as TableEncoder
    from hld.tables.schemas.learn_schema import (
        calendar_columns as calendar_columns,
        fit_encoder as fit_encoder,
        learn_schema as learn_schema,
    )
    from hld.tables.schemas.quality import DataQuality as DataQuality
    from hld.tables.schemas.schema import ColumnSchema as ColumnSchema, TableSchema as TableSchema
    from hld.testing.sequential.monitor import Monitor as Monitor, MonitorResult as MonitorResult
    from hld.testing.summaries.of_tables import arrow_summarizer as arrow_summarizer
    from hld.testing.summaries.summary import BatchSummary as BatchSummary
    from hld.testing.goodness_of_fit import HLDTest as HLDTest
    from hld.testing.many_batches import (
        BatchesResult as BatchesResult,
        test_batches as test_batches,
    )
    from hld.features.distances import distance as distance
    from hld.features.distances import likelihood_vectors as likelihood_vectors
    from pcircuit import (
        Moments as Moments,
        exact_moments as exact_moments,
        select_nodes as select_nodes,
    )

_NAMES = {  # module -> public names in it; the same for editors and type checkers above
    "detector.audit": (
        "AuditResult",
        "audit",
    ),
    "baselines.mmd": (
        "MMDResult",
        "MMDTest",
        "mmd_squared",
    ),
    "detector.two_sample": (
        "TwoSampleResult",
        "two_sample",
    ),
    "detector.chunks": ("judge_chunks",),
    "detector.estimator": ("CircuitDensity",),
    "detector.detector": (
        "HLDDetector",
        "load",
        "save",
    ),
    "testing.planning.alternatives": ("Edit",),
    "testing.planning.of_tables": (
        "Plan",
        "plan",
    ),
    "witnesses.result": ("HLDResult",),
    "tables.schemas.encoder": ("TableEncoder",),
    "tables.schemas.learn_schema": (
        "calendar_columns",
        "fit_encoder",
        "learn_schema",
    ),
    "tables.schemas.quality": ("DataQuality",),
    "tables.schemas.schema": (
        "ColumnSchema",
        "TableSchema",
    ),
    "testing.sequential.monitor": (
        "Monitor",
        "MonitorResult",
    ),
    "testing.summaries.of_tables": ("arrow_summarizer",),
    "testing.summaries.summary": ("BatchSummary",),
    "testing.goodness_of_fit": ("HLDTest",),
    "testing.many_batches": (
        "BatchesResult",
        "test_batches",
    ),
    "features.distances": ("distance", "likelihood_vectors"),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}
_FROM_PCIRCUIT = ("Moments", "exact_moments", "select_nodes")
_MODULES = {"baselines": "baselines", "gchi2": "gchi2", "plots": "answers.plots"}
__all__ = sorted([*_HOME, *_FROM_PCIRCUIT, *_MODULES])
__version__ = pcircuit.__version__

if not TYPE_CHECKING:  # who checks types would believe in any name

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            return importlib.import_module(f"hld.{_MODULES[name]}")
        if name in _FROM_PCIRCUIT:
            return getattr(pcircuit, name)
        if name not in _HOME:
            raise AttributeError(f"module 'hld' has no attribute {name!r}")
        value = getattr(importlib.import_module(f"hld.{_HOME[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_FROM_PCIRCUIT, *_MODULES])
