"""The alias: modules called ``mxnet`` that look their names up in gluonx."""

__all__: list[str] = []
