"""Fleets: thousands of models through one summary, each by itself, on one machine or on several.

``sources`` says which models, ``task`` what is done with one, ``engines`` where, ``journal`` what is done
already, ``studying`` does the rest, and ``parquet`` writes the table.  One model needs ``sources`` alone.
"""
