"""Does a batch of data still follow the distribution that a probabilistic circuit learned?

Names are loaded when they are first used, so ``import hld`` costs little more than NumPy.
"""

from typing import TYPE_CHECKING

import pcircuit
from pcircuit import homes_of, loaded

if TYPE_CHECKING:  # read by editors and type checkers, and at the first use of a name
    # isort: off
    from hld import baselines as baselines, gchi2 as gchi2
    from hld.answers import plots as plots
    from hld.detector.audit import AuditResult as AuditResult, audit as audit
    from hld.baselines.mmd import MMDTest as MMDTest, mmd_squared as mmd_squared
    from hld.detector.chunks import judge_chunks as judge_chunks
    from hld.detector.two_sample import (
        TwoSampleResult as TwoSampleResult,
        two_sample as two_sample,
    )
    from hld.detector.estimator import CircuitDensity as CircuitDensity
    from hld.detector.detector import HLDDetector as HLDDetector
    from hld.detector.detector import load as load, save as save
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
    from hld.testing.sequential import Monitor as Monitor, MonitorResult as MonitorResult
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

_HOME = homes_of(__file__)
_MODULES = ("baselines", "gchi2", "plots")
__all__ = sorted(_HOME)
__version__ = pcircuit.__version__


if not TYPE_CHECKING:  # who checks types would believe in any name

    def __getattr__(name: str) -> object:
        globals()[name] = value = loaded("hld", name, _HOME, _MODULES)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
