"""One SLURM job for everything; ``dpbb slurm`` writes its batch script."""
