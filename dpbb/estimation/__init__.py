"""Estimates of tree sizes and of the time left."""
