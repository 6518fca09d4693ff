"""A process without compiled code on a busy machine."""
