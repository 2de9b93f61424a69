"""``gluonx.gluon.loss`` is ``gluonx.loss``."""

from typing import TYPE_CHECKING

from gluonx.aliases import stand_for

if TYPE_CHECKING:
    from gluonx.loss import *  # noqa: F403

stand_for(__name__)
