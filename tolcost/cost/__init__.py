"""Costs of a lowered program: counts, weights, traffic, depth, and their derivation."""

from tolcost.cost.count import Counts, FunctionCounts, Term, count, count_functions
from tolcost.cost.record import Analysis, FormRatio, NamedType, analyze_program, shipped
from tolcost.cost.span import Depths, depths
from tolcost.cost.traffic import Traffic, traffic
from tolcost.cost.weights import Weighed, Weights, load_weights, parse_weights, weigh
