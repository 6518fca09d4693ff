"""A cluster on which everything goes wrong."""
