"""Tests; ``tests.oracle`` holds what several of them compare with."""
