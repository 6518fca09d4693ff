"""Tests of the coordinator; ``world`` drives it without a cluster."""
