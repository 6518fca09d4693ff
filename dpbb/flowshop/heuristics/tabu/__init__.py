"""Tabu search over exchanges of two jobs, on CPU cores and GPUs."""
