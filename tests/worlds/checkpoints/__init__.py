"""How large the checkpoints of real seats are, and what they take."""
