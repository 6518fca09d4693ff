"""One SLURM job for everything; ``dpbb slurm`` writes its batch script.

``launch`` has what workers that are jobs of their own need, too: certificates, the
client (``deploy/slurm/jobqueue.py``).
"""
