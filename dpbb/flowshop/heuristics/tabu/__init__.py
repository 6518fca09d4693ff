"""Tabu search over swaps and insertions, on CPU cores and GPUs."""
