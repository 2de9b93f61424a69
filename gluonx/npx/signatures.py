"""Parameters of MXNet's functions that mean nothing here: they are taken, and ignored."""

from __future__ import annotations

from gluonx.ops.registry import HINTS

IGNORED = (HINTS - {"num_args"}) | {"ctx", "device", "key", "layout_", "name", "ndev"}
"""Parameters of MXNet that mean nothing on XLA."""
