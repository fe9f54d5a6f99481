"""Interpreters of atoms: they compute values, and the counts that closed forms are checked against."""

from tolcost.execute.inputs import meet
from tolcost.execute.reference import run_reference
from tolcost.execute.unrolled import run_unrolled
from tolcost.execute.values import Execution, RunCounts
from tolcost.execute.vectorised import run_vectorised

__all__ = ["Execution", "RunCounts", "meet", "run_reference", "run_unrolled", "run_vectorised"]
