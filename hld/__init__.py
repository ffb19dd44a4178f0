"""Does a batch of data still follow the distribution that a probabilistic circuit learned?

Names are loaded when they are first used, so ``import hld`` costs little more than NumPy.
"""

import importlib
from typing import TYPE_CHECKING

import pcircuit

if TYPE_CHECKING:  # what editors and type checkers see
    from hld import baselines as baselines
    from hld import gchi2 as gchi2
    from hld import plots as plots
    from hld.auditing.audit import AuditResult as AuditResult
    from hld.auditing.audit import audit as audit
    from hld.baselines.mmd import MMDResult as MMDResult
    from hld.baselines.mmd import MMDTest as MMDTest
    from hld.baselines.mmd import mmd_squared as mmd_squared
    from hld.chunks import judge_chunks as judge_chunks
    from hld.comparing.distances import Distances as Distances
    from hld.comparing.distances import distances as distances
    from hld.comparing.two_sample import TwoSampleResult as TwoSampleResult
    from hld.comparing.two_sample import two_sample as two_sample
    from hld.conditional.label_shift import LabelShift as LabelShift
    from hld.conditional.label_shift import label_shift as label_shift
    from hld.detector import HLDDetector as HLDDetector
    from hld.model_files import load as load
    from hld.model_files import save as save
    from hld.planning.alternatives import Edit as Edit
    from hld.planning.of_tables import Plan as Plan
    from hld.planning.of_tables import plan as plan
    from hld.results.result import HLDResult as HLDResult
    from hld.schemas.encoder import TableEncoder as TableEncoder
    from hld.schemas.encoder import fit_encoder as fit_encoder
    from hld.schemas.learn_schema import calendar_columns as calendar_columns
    from hld.schemas.learn_schema import learn_schema as learn_schema
    from hld.schemas.quality import DataQuality as DataQuality
    from hld.schemas.schema import ColumnSchema as ColumnSchema
    from hld.schemas.schema import TableSchema as TableSchema
    from hld.sequential.monitor import Monitor as Monitor
    from hld.sequential.monitor import MonitorResult as MonitorResult
    from hld.summaries.of_batches import arrow_summarizer as arrow_summarizer
    from hld.summaries.summary import BatchSummary as BatchSummary
    from hld.testing.goodness_of_fit import HLDTest as HLDTest
    from hld.testing.many_batches import BatchesResult as BatchesResult
    from hld.testing.many_batches import test_batches as test_batches
    from hld.vectors.distances import distance as distance
    from hld.vectors.hlv import likelihood_vectors as likelihood_vectors
    from pcircuit import Moments as Moments
    from pcircuit import exact_moments as exact_moments
    from pcircuit import select_nodes as select_nodes

_HOME = {
    "likelihood_vectors": "vectors.hlv",
    "distance": "vectors.distances",
    "HLDTest": "testing.goodness_of_fit",
    "BatchesResult": "testing.many_batches",
    "test_batches": "testing.many_batches",
    "HLDResult": "results.result",
    "HLDDetector": "detector",
    "load": "model_files",
    "save": "model_files",
    "judge_chunks": "chunks",
    "Monitor": "sequential.monitor",
    "MonitorResult": "sequential.monitor",
    "MMDResult": "baselines.mmd",
    "MMDTest": "baselines.mmd",
    "mmd_squared": "baselines.mmd",
    "BatchSummary": "summaries.summary",
    "arrow_summarizer": "summaries.of_batches",
    "AuditResult": "auditing.audit",
    "audit": "auditing.audit",
    "Edit": "planning.alternatives",
    "Plan": "planning.of_tables",
    "plan": "planning.of_tables",
    "Distances": "comparing.distances",
    "distances": "comparing.distances",
    "TwoSampleResult": "comparing.two_sample",
    "two_sample": "comparing.two_sample",
    "TableEncoder": "schemas.encoder",
    "fit_encoder": "schemas.encoder",
    "TableSchema": "schemas.schema",
    "ColumnSchema": "schemas.schema",
    "learn_schema": "schemas.learn_schema",
    "calendar_columns": "schemas.learn_schema",
    "DataQuality": "schemas.quality",
    "LabelShift": "conditional.label_shift",
    "label_shift": "conditional.label_shift",
}
_FROM_PCIRCUIT = ("Moments", "exact_moments", "select_nodes")
_MODULES = ("baselines", "gchi2", "plots")
__all__ = sorted([*_HOME, *_FROM_PCIRCUIT, *_MODULES])
__version__ = pcircuit.__version__

if not TYPE_CHECKING:  # who checks types would believe in any name

    def __getattr__(name: str) -> object:
        if name in _MODULES:
            return importlib.import_module(f"hld.{name}")
        if name in _FROM_PCIRCUIT:
            return getattr(pcircuit, name)
        if name not in _HOME:
            raise AttributeError(f"module 'hld' has no attribute {name!r}")
        value = getattr(importlib.import_module(f"hld.{_HOME[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME, *_FROM_PCIRCUIT, *_MODULES])
