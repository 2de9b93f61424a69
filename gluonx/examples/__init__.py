"""Whole programs written as a user of gluonx writes them: ``python -m gluonx.examples.digits``."""

__all__: list[str] = []
