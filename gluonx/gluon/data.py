"""``gluonx.gluon.data`` is ``gluonx.data``."""

from typing import TYPE_CHECKING

from gluonx.aliases import stand_for

if TYPE_CHECKING:
    from gluonx.data import *  # noqa: F403

stand_for(__name__)
