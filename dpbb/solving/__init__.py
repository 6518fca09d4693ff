"""One call of ``solve``, ``submit`` or ``resume``: from arguments to a result."""
