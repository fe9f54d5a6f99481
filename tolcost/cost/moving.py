"""What moving data counts: members taken, joins and embeds made, by nodes that compute nothing.

Copying a ToL takes every member and joins them again; what a copy costs depends on shapes alone.
"""

from __future__ import annotations

from tolcost.algebra import ONE, ZERO, Poly, const, relu
from tolcost.algebra.poly import product_of, total_of
from tolcost.atoms.nodes import Build, Convert, Filter, Node, Pack, Put, Reshape, Type
from tolcost.cost.terms import EVERYWHERE, Item, Terms, accumulate


def moved(node: Node) -> Terms:
    """Count the members, joins and embeds that a node does as a whole."""
    match node:
        case Pack(items=items):
            return _atoms(join=const(len(items) - 1))
        case Reshape(type=type_) | Convert(type=type_):
            return _relayed(type_)
        case Put():
            return _put(node)
        case Filter(type=type_):
            return plus(_relayed(type_), _atoms(norm=ONE))
        case _:
            return {}


def _atoms(**counts: Poly) -> Terms:
    return {(Item("atom", name), EVERYWHERE): count for name, count in counts.items() if count != ZERO}


def plus(left: Terms, right: Terms) -> Terms:
    """Add terms to terms."""
    terms = dict(left)
    accumulate(terms, right)
    return terms


def _suffix_products(shape: tuple[Poly, ...]) -> Poly:
    """Sum of the products of the last 1, 2, ... lengths, all but the product of all of them."""
    total, product = ZERO, ONE
    for extent in reversed(shape[1:]):
        product = product * extent
        total = total + product
    return total


def _relay(shape: tuple[Poly, ...], read: bool = True) -> Terms:
    """Count taking a ToL apart into members and joining them again under a shape."""
    if not shape:
        return {}
    volume = product_of(shape)
    return _atoms(member=volume if read else ZERO, join=relu(volume - 1), embed=_suffix_products(shape))


def _relayed(type_: Type) -> Terms:
    terms: Terms = {}
    for part in type_:
        accumulate(terms, _relay(part.shape))
    return terms


def assembled(node: Build) -> Terms:
    """Count putting the values of a body together: numerics as they are, ToLs by their members."""
    rank = len(node.extents)
    inner = [part.shape[rank:] for part in node.type]
    if not any(inner):
        return _relay(node.extents, read=False)
    terms: Terms = {}
    for shape in inner:
        accumulate(terms, _relay((*node.extents, *shape)))
    return terms


def _put(node: Put) -> Terms:
    """Count a replacement: every member is read but those replaced."""
    terms = _relayed(node.type)
    replaced = total_of(product_of(part.shape[len(node.at) :]) for part in node.type if part.shape)
    accumulate(terms, _atoms(member=-replaced))
    return terms
