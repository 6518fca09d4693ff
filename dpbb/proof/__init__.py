"""Certificates: what a run leaves for others to check, and the check."""
