"""Fleets: thousands of models in one table, each analysed by itself, on one machine or on several.

``sources`` finds the models, ``task`` analyses one, ``journal`` stores finished rows, ``engines`` runs the
rest, and ``parquet`` writes the table.  A single model needs only ``sources``.
"""
