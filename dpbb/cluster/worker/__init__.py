"""What runs on a worker: seats, their sessions, and the task that explores a unit."""
