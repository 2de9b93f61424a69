"""Whole programs written as a user of gluonx writes them: ``python -m examples.digits``."""

__all__: list[str] = []
