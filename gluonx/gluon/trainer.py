"""``gluonx.gluon.trainer`` is ``gluonx.trainer``."""

from typing import TYPE_CHECKING

from gluonx.aliases import stand_for

if TYPE_CHECKING:
    from gluonx.trainer import *  # noqa: F403

stand_for(__name__)
