"""``gluonx.gluon.model_zoo`` is ``gluonx.model_zoo``."""

from typing import TYPE_CHECKING

from gluonx.aliases import stand_for

if TYPE_CHECKING:
    from gluonx.model_zoo import *  # noqa: F403

stand_for(__name__)
