"""Plots of schedules, runs and measurements, with Matplotlib (``dpbb[plot]``)."""

from dpbb.plotting.convergence_plot import convergence
from dpbb.plotting.critical import critical_path
from dpbb.plotting.drawing import draw, figure_of
from dpbb.plotting.gantt_chart import gantt
from dpbb.plotting.gantt_page import gantt_figure, gantt_html
from dpbb.plotting.interval_plot import interval_map
from dpbb.plotting.speedup_plot import speedup

__all__ = [
    "convergence",
    "critical_path",
    "draw",
    "figure_of",
    "gantt",
    "gantt_figure",
    "gantt_html",
    "interval_map",
    "speedup",
]
