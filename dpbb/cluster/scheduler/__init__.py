"""What runs on the scheduler: the plugin, and the parts that it is made of.

``hub`` decides (with ``seats``, ``sharing``, ``heuristics``), ``submitter`` turns units
into futures, ``plugin`` answers workers and clients; the others write checkpoints,
estimate, scale, and show.
"""
