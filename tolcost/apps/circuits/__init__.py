"""Arithmetic circuits: a program at given lengths as a graph of functions, read, written and compared."""
