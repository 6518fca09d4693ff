"""Lower bounds of the flow shop in NumPy, and the table of them."""
