"""Fleets: thousands of models through one summary, each by itself, on one machine or on several.

``sources`` says which models, ``task`` what is done with one, ``journal`` what is done already,
``engines`` where the rest is, and ``parquet`` writes the table.  One model needs ``sources`` alone.
"""
