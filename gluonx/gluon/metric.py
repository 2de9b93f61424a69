"""``gluonx.gluon.metric`` is ``gluonx.metric``."""

from typing import TYPE_CHECKING

from gluonx.aliases import stand_for

if TYPE_CHECKING:
    from gluonx.metric import *  # noqa: F403

stand_for(__name__)
