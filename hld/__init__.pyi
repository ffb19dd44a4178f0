"""Public names of the package, and where they are: for editors, type checkers, and the first use of each."""

from hld import baselines as baselines
from hld import gchi2 as gchi2
from hld.answers import plots as plots
from hld.baselines.mmd import MMDTest as MMDTest
from hld.baselines.mmd import mmd_squared as mmd_squared
from hld.detector.chunks import judge_chunks as judge_chunks
from hld.detector.comparing.audit import AuditResult as AuditResult
from hld.detector.comparing.audit import audit as audit
from hld.detector.comparing.two_sample import (
    TwoSampleResult as TwoSampleResult,
)
from hld.detector.comparing.two_sample import (
    two_sample as two_sample,
)
from hld.detector.density import CircuitDensity as CircuitDensity
from hld.detector.detector import HLDDetector as HLDDetector
from hld.detector.detector import load as load
from hld.detector.detector import save as save
from hld.features.distances import distance as distance
from hld.features.distances import likelihood_vectors as likelihood_vectors
from hld.tables.schemas.encoder import TableEncoder as TableEncoder
from hld.tables.schemas.learn_schema import (
    calendar_columns as calendar_columns,
)
from hld.tables.schemas.learn_schema import (
    fit_encoder as fit_encoder,
)
from hld.tables.schemas.learn_schema import (
    learn_schema as learn_schema,
)
from hld.tables.schemas.quality import DataQuality as DataQuality
from hld.tables.schemas.schema import ColumnSchema as ColumnSchema
from hld.tables.schemas.schema import TableSchema as TableSchema
from hld.testing.goodness_of_fit import HLDTest as HLDTest
from hld.testing.many_batches import (
    BatchesResult as BatchesResult,
)
from hld.testing.many_batches import (
    test_batches as test_batches,
)
from hld.testing.planning.alternatives import Edit as Edit
from hld.testing.planning.of_tables import Plan as Plan
from hld.testing.planning.of_tables import plan as plan
from hld.testing.sequential.monitor import Monitor as Monitor
from hld.testing.sequential.monitor import MonitorResult as MonitorResult
from hld.testing.summaries.of_tables import arrow_summarizer as arrow_summarizer
from hld.testing.summaries.summary import BatchSummary as BatchSummary
from hld.witnesses.result import HLDResult as HLDResult
from pcircuit import (
    Moments as Moments,
)
from pcircuit import (
    exact_moments as exact_moments,
)
from pcircuit import (
    select_nodes as select_nodes,
)

__all__: list[str]
__version__: str
