"""Queries in SQL as programs in ToLang: a useful subset, with a place and a hint for anything outside."""

from tolcost.apps.sql.program import Translated, translated
from tolcost.apps.sql.query import read_query
from tolcost.apps.sql.tables import SqlColumn, SqlTable, read_tables

__all__ = ["SqlColumn", "SqlTable", "Translated", "read_query", "read_tables", "translated"]
