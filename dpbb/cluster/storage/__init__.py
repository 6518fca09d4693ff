"""Checkpoints as files: a folder of them, whose it is, and where it may lie."""
