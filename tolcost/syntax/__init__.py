"""Reading ToLang: grammar, tree, parser, names, formatter."""

from tolcost.syntax.declarations import Signature, operator_signature, signatures
from tolcost.syntax.parser import parse
from tolcost.syntax.resolve import Occurrences, occurrences, resolve
from tolcost.syntax.source import read_source

__all__ = [
    "Occurrences",
    "Signature",
    "occurrences",
    "operator_signature",
    "parse",
    "read_source",
    "resolve",
    "signatures",
]
