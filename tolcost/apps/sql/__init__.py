"""Queries in SQL as programs in ToLang, with a place and a hint for anything that is not translated."""

from tolcost.apps.sql.program import SqlOutput, Translated, translated
from tolcost.apps.sql.query import read_query
from tolcost.apps.sql.tables import SqlColumn, SqlTable, read_tables

__all__ = ["SqlColumn", "SqlOutput", "SqlTable", "Translated", "read_query", "read_tables", "translated"]
