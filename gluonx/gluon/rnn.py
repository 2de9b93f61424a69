"""``gluonx.gluon.rnn`` is ``gluonx.rnn``."""

from typing import TYPE_CHECKING

from gluonx.aliases import stand_for

if TYPE_CHECKING:
    from gluonx.rnn import *  # noqa: F403

stand_for(__name__)
