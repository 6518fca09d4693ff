"""What maintainers measure: ``python -m tests.bench.cold`` and so on.

What users measure is ``dpbb bench``.
"""
