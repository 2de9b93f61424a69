"""``gluonx.exchange`` of gluonx 0.1.0 is `gluonx.export`."""

__all__: list[str] = []
