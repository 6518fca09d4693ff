"""Plots of results and runs."""
