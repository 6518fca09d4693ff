"""Engines: ways to explore work units; loaded by name, so none is imported here."""

from dpbb.engines.base import Candidate, Device, Engine, Session, Slice
from dpbb.engines.driver import Exploration, explore_to_end
from dpbb.engines.registry import (
    ENGINES,
    available_engines,
    choose_engine,
    get_engine,
)

__all__ = [
    "ENGINES",
    "Candidate",
    "Device",
    "Engine",
    "Exploration",
    "Session",
    "Slice",
    "available_engines",
    "choose_engine",
    "explore_to_end",
    "get_engine",
]
