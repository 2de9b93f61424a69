"""A block's Python code as one operator.

From the ground up: `attributes` (what a forward reads of its block and writes to it), `tracing` (the trace of a
forward, and the calls that use it), `custom` (``autograd.Function`` in a trace), `remat` (recomputing in the backward).
"""
