"""Bounds that tighten LB1 of the flow shop: the table of them, and their tables."""
