"""Tables on a cluster: fitted and tested where their rows are, with Dask (`pip install 'hld[dask]'`)."""

from hld.dask.fitting import fit as fit
from hld.dask.judging import judge as judge
from hld.dask.judging import summarize as summarize

__all__ = ["fit", "judge", "summarize"]
