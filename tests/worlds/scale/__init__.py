"""Thousands of simulated seats around the real coordinator."""
