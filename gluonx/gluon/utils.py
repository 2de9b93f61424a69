"""``gluonx.gluon.utils`` is ``gluonx.utils``."""

from typing import TYPE_CHECKING

from gluonx.aliases import stand_for

if TYPE_CHECKING:
    from gluonx.utils import *  # noqa: F403

stand_for(__name__)
