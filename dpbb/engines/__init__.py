"""Engines: ways to explore work units; loaded by name, so none is imported here."""

from dpbb.engines.base import Candidate as Candidate
from dpbb.engines.base import Device as Device
from dpbb.engines.base import Engine as Engine
from dpbb.engines.base import Exploration as Exploration
from dpbb.engines.base import Session as Session
from dpbb.engines.base import Slice as Slice
from dpbb.engines.base import explore_to_end as explore_to_end
from dpbb.engines.registry import ENGINES as ENGINES
from dpbb.engines.registry import available_engines as available_engines
from dpbb.engines.registry import choose_engine as choose_engine
from dpbb.engines.registry import get_engine as get_engine
