"""``gluonx.gluon.probability`` is ``gluonx.probability``."""

from typing import TYPE_CHECKING

from gluonx.aliases import stand_for

if TYPE_CHECKING:
    from gluonx.probability import *  # noqa: F403

stand_for(__name__)
