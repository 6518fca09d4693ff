"""Forged certificates of large trees."""
