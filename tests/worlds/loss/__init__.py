"""What a kill of everything costs a run with checkpoints."""
