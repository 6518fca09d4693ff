"""Plots of schedules, runs and measurements, with Matplotlib (``dpbb[plot]``)."""

from dpbb.plotting.convergence_plot import convergence as convergence
from dpbb.plotting.drawing import draw as draw
from dpbb.plotting.drawing import figure_of as figure_of
from dpbb.plotting.gantt_chart import gantt as gantt
from dpbb.plotting.gantt_chart import gantt_figure as gantt_figure
from dpbb.plotting.gantt_chart import gantt_html as gantt_html
from dpbb.plotting.interval_plot import interval_map as interval_map
from dpbb.plotting.speedup_plot import speedup as speedup
