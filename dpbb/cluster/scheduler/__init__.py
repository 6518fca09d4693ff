"""What runs on the scheduler: runs, seats, units as futures, checkpoints, the page."""
