"""The same laws for every engine."""
