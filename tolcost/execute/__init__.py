"""Running atoms: values, and the counts that closed forms are held to."""

from tolcost.execute.reference import run_reference
from tolcost.execute.values import Counts, Execution
from tolcost.execute.vectorised import run_vectorised

__all__ = ["Counts", "Execution", "run_reference", "run_vectorised"]
