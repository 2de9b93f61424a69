"""Parameters of MXNet's functions that mean nothing here: they are taken, and ignored."""

from __future__ import annotations

__all__ = ["IGNORED"]

IGNORED = frozenset(
    [
        "cudnn_off",
        "cudnn_tune",
        "ctx",
        "device",
        "forward_stype",
        "key",
        "layout_",
        "max_calib_range",
        "min_calib_range",
        "name",
        "ndev",
        "sparse_grad",
        "workspace",
    ]
)
"""Parameters of MXNet that mean nothing on XLA."""
