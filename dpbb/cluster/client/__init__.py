"""What runs in the process of the user: opening runs, and the handle of one."""
