"""``gluon.contrib.estimator`` is `gluonx.estimator`."""

from __future__ import annotations

from gluonx import estimator as _estimator
from gluonx.estimator import *  # noqa: F403

__all__ = list(_estimator.__all__)
