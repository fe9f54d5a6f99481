"""Results for people and programs to read: text, JSON, Markdown, CSV, LaTeX, and frames."""

from tolcost.report.formats import FORMATS, write_studies
from tolcost.report.point import Point, locate
from tolcost.report.study import METRICS, Study

__all__ = ["FORMATS", "METRICS", "Point", "Study", "locate", "write_studies"]
