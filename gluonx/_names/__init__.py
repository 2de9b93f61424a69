"""Files for the short names of `gluonx.aliases`: ``gluonx.nd`` is found here, for this folder is on gluonx's path."""

__all__: list[str] = []
